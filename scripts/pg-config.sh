#!/usr/bin/env bash
# Prints the pg_config to build with: the newest one under /usr/lib/postgresql that has server
# headers, else the one in PATH.
set -euo pipefail
newest=
for candidate in /usr/lib/postgresql/*/bin/pg_config; do
	[ -x "$candidate" ] && [ -e "$("$candidate" --includedir-server)/postgres.h" ] || continue
	newest=$(printf '%s\n' "$newest" "$candidate" | sort -V | tail -n 1)
done
echo "${newest:-$(command -v pg_config || echo pg_config)}"
