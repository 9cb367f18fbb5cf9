#!/usr/bin/env bash
# Prints what `make test` tests with: version <tab> path of its pg_config, or
# version <tab> SKIPPED: reason. With an argument, only that version.
set -euo pipefail
for version in ${1:-15 16 17 18}; do
	config=/usr/lib/postgresql/$version/bin/pg_config
	if [ -x "$config" ] && [ -e "$("$config" --includedir-server)/postgres.h" ]; then
		printf '%s\t%s\n' "$version" "$config"
	else
		printf '%s\tSKIPPED: not installed\n' "$version"
	fi
done
