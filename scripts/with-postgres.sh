#!/usr/bin/env bash
# with-postgres.sh VERSION COMMAND...: runs a command with PG_CONFIG of that PostgreSQL version,
# which is fetched if need be. An empty VERSION leaves PG_CONFIG as it is.
set -euo pipefail
version=$1
shift
if [ -n "$version" ]; then
	found=$("$(dirname "$0")/postgres-versions.sh" "$version")
	PG_CONFIG=${found#*$'\t'}
	[ "${PG_CONFIG#SKIPPED}" = "$PG_CONFIG" ] || { echo "error: PostgreSQL $version: ${PG_CONFIG#SKIPPED: }" >&2; exit 1; }
	export PG_CONFIG
fi
exec "$@"
