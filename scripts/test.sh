#!/usr/bin/env bash
# make test: everything, on each PostgreSQL that can be had; or on the version given.
here=$(dirname "$0")
"$here/install-dependencies.sh"
. "$here/lib.sh"
scripts/lint.sh
say "engine"
CARGO_TARGET_DIR=$root/build/target/engine cargo test --locked -p minlsh-sketch
summary=()
failed=0
while IFS=$'\t' read -r version config; do
	if [ "${config#SKIPPED}" != "$config" ]; then
		summary+=("PostgreSQL $version: $config")
		continue
	fi
	say "PostgreSQL $version ($config)"
	if PG_CONFIG=$config scripts/regress.sh && PG_CONFIG=$config scripts/integration.sh; then
		summary+=("PostgreSQL $version: passed")
	else
		summary+=("PostgreSQL $version: FAILED")
		failed=1
	fi
done < <(scripts/postgres-versions.sh "$@")
say "summary"
printf '%s\n' "${summary[@]}"
exit "$failed"
