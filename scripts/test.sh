#!/usr/bin/env bash
# make test: everything, on each PostgreSQL that can be had; or on the version given.
here=$(dirname "$0")
"$here/install-dependencies.sh" --test || exit
. "$here/lib.sh"
summary=()
failed=0 passed=0

# check NAME COMMAND...: runs a part, and notes how it went.
check() {
	local name=$1 start=$SECONDS
	shift
	say "$name"
	if "$@" </dev/null; then
		summary+=("$name: passed ($((SECONDS - start)) s)")
	else
		summary+=("$name: FAILED")
		failed=1
	fi
}
test_version() {
	local status=0
	PG_CONFIG=$1 scripts/regress.sh || status=1
	PG_CONFIG=$1 scripts/integration.sh || status=1
	return $status
}
# With PostgreSQL's assertions on: the tests of what is below them, its pages, locks, snapshots and memory.
# In a shell of its own: what it exports is not for the parts that follow.
test_cassert() (
	local status=0 tests=() name
	for name in access_method attacks concurrency differential dump_restore index_survives interruption native_index \
		near_unique replication torture values; do tests+=(--test "$name"); done
	export PROFILE=quick PG_CONFIG=$1
	scripts/regress.sh || status=1
	scripts/integration.sh "${tests[@]}" || status=1
	exit $status
)

say "PostgreSQL versions"
versions=$(scripts/postgres-versions.sh "$@")
echo "$versions"
check "lint" scripts/lint.sh
check "engine" make -s engine
check "fuzzing the engine" scripts/fuzz.sh --engine
while IFS=$'\t' read -r version config; do
	if [ "${config#SKIPPED}" != "$config" ]; then
		summary+=("PostgreSQL $version: $config")
	elif [ "$version" = cassert ]; then
		check "PostgreSQL with assertions" test_cassert "$config"
		passed=$((passed + 1))
	else
		check "PostgreSQL $version" test_version "$config"
		passed=$((passed + 1))
	fi
done <<<"$versions"
# pg_upgrade looks for libraries in the new server's own folder: one that was fetched is ours to install into.
config_of() { awk -F'\t' -v version="$1" '$1 == version { print $2 }' <<<"$versions"; }
old=$(config_of 16) new=$(config_of 18)
if [ -x "$old" ] && [[ $new == "$(pg_cache)"/* ]]; then
	check "pg_upgrade from 16 to 18" scripts/upgrade.sh "$old" "$new"
else
	summary+=("pg_upgrade: SKIPPED: it takes PostgreSQL 16, and an 18 that was fetched")
fi
clients=$(awk -F'\t' '$2 !~ /^SKIPPED/ { print $2; exit }' <<<"$versions")
[ -z "$clients" ] || check "clients" env PG_CONFIG="$clients" scripts/clients.sh
if PATH=$PATH:$root/build/mdbook/bin command -v mdbook >/dev/null; then
	check "book" scripts/book.sh
else
	summary+=("book: SKIPPED: there is no mdbook here; 'make book' compiles one")
fi
say "summary"
printf '%s\n' "${summary[@]}"
[ "$passed" -gt 0 ] || die "no PostgreSQL could be tested"
exit "$failed"
