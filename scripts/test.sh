#!/usr/bin/env bash
# make test: everything once, by quick builds. Each file of integration tests runs on one PostgreSQL: those of pages,
# locks, snapshots and memory on the server with assertions, the others on the newest version; regression tests run on
# every version.
# make test-all (--all): integration tests on every version too, the oldest by the build that is installed, and the
# engine's fuzz targets.
# With a version: everything on that one.
here=$(dirname "$0")
"$here/install-dependencies.sh" --test || exit
. "$here/lib.sh"
all=
[ "${1:-}" != --all ] || { all=1 && shift; }
work=$(mktemp -d)
groups=()
trap 'kill -TERM -- "${groups[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# What assertions are about.
below=(access_method attacks concurrency differential dump_restore interruption near_unique replication torture values)
# What does not depend on the version of PostgreSQL.
once=(datasketch documentation experiments hands install)

# tests NAME...: as arguments of cargo test.
tests() { printf -- '--test\n%s\n' "$@"; }
# The files of tests but for NAME...
but_for() {
	local file name
	for file in tests/integration/tests/*; do
		name=$(basename "$file" .rs)
		[[ " $* " == *" $name "* ]] || echo "$name"
	done
}

# check NAME COMMAND...: runs a part, and notes how it went.
check() {
	local name=$1 start=$SECONDS
	shift
	say "$name"
	if "$@" </dev/null; then
		printf '%s\t%s\n' $((SECONDS - start)) "$name: passed" >>"$work/summary"
	else
		printf '%s\t%s\n' $((SECONDS - start)) "$name: FAILED" >>"$work/summary"
	fi
}
# Regression tests, and the integration tests NAME... or none.
test_version() (
	local status=0 selected
	export PG_CONFIG=$1
	shift
	scripts/regress.sh || status=1
	if [ $# -gt 0 ]; then
		mapfile -t selected < <(tests "$@")
		scripts/integration.sh "${selected[@]}" || status=1
	fi
	exit $status
)

# part NAME: runs it, unless another lane does or has done so, and then shows what it wrote.
part() {
	mkdir "$work/$1" 2>/dev/null || return 0
	say "$1 begins"
	"$1" >"$work/$1/output" 2>&1 || printf '0\t%s: FAILED\n' "$1" >>"$work/summary"
	flock "$work" cat "$work/$1/output"
}
lane() {
	local name
	for name in "$@"; do part "$name"; done
}
# beside COMMAND...: in the background, in a process group of its own, to be stopped by.
beside() {
	set -m
	"$@" &
	groups+=("-$!")
	set +m
}

engine() { check "engine" make -s engine; }
# It needs no server: those are fetched meanwhile.
[ -n "$all" ] || beside part engine

say "PostgreSQL versions"
versions=$(scripts/postgres-versions.sh "$@")
echo "$versions"
config_of() { awk -F'\t' -v version="$1" '$1 == version && $2 !~ /^SKIPPED/ { print $2 }' <<<"$versions"; }
mapfile -t found < <(awk -F'\t' '$2 !~ /^SKIPPED/ && $1 != "cassert" { print $1 }' <<<"$versions")
awk -F'\t' -v OFS='\t' '$2 ~ /^SKIPPED/ { print 0, "PostgreSQL " $1 ": " $2 }' <<<"$versions" >>"$work/summary"
cassert=$(config_of cassert)
[ ${#found[@]} -gt 0 ] || [ -n "$cassert" ] || die "no PostgreSQL could be tested"
first=${found[0]:-} newest=${found[-1]:-}
asserted=
[ -z "$cassert" ] || asserted=$(pg_config=$cassert pg_major)
export PROFILE=quick

on_assertions() {
	[ -z "$cassert" ] || PG_CONFIG=$cassert check "PostgreSQL with assertions" test_version "$cassert" "${below[@]}"
}
# version NUMBER PROFILE [TEST...]
version() {
	PROFILE=$2 check "PostgreSQL $1, $2 build" test_version "$(config_of "$1")" "${@:3}"
}
on_newest() { [ -z "$newest" ] || version "$newest" quick "${others[@]}"; }
lint() { check "lint" env PG_CONFIG="$(config_of "${newest:-cassert}")" scripts/lint.sh; }
upgrades() {
	local old new from to
	# pg_upgrade looks for libraries in the new server's own folder: one that was fetched is ours to install into.
	while read -r from to; do
		old=$(config_of "$from") new=$(config_of "$to")
		if [ -x "$old" ] && [[ $new == "$(pg_cache)"/* ]]; then
			check "pg_upgrade from $from to $to" scripts/upgrade.sh "$old" "$new"
		else
			printf '0\tpg_upgrade: SKIPPED: it takes PostgreSQL %s, and a %s that was fetched\n' "$from" "$to" \
				>>"$work/summary"
		fi
	done <<<$'16 18\n18 19'
}
# The other versions, and then pg_upgrade, which installs into the same folders.
older() {
	local number
	for number in "${found[@]}"; do
		if [ "$number" = "$asserted" ] && [ "$number" != "$newest" ]; then
			printf '0\tPostgreSQL %s: by the server with assertions\n' "$number" >>"$work/summary"
		elif [ "$number" != "$newest" ]; then
			version "$number" quick
		fi
	done
	upgrades
}
clients() { [ -z "$newest" ] || check "clients" env PG_CONFIG="$(config_of "$newest")" scripts/clients.sh; }
book() {
	if PATH=$PATH:$root/build/mdbook/bin command -v mdbook >/dev/null; then
		check "book" scripts/book.sh
	else
		printf "0\tbook: SKIPPED: there is no mdbook here; 'make book' compiles one\n" >>"$work/summary"
	fi
}

if [ -n "$all" ]; then
	lint
	engine
	check "fuzzing the engine" scripts/fuzz.sh --engine
	on_assertions
	mapfile -t every < <(but_for)
	mapfile -t dependent < <(but_for "${once[@]}")
	for number in "${found[@]}"; do
		# One is built as it is installed, the others in half the time.
		profile=quick
		[ "$number" != "$first" ] || profile=release
		if [ "$number" = "$newest" ]; then
			version "$number" $profile "${every[@]}"
		else
			version "$number" $profile "${dependent[@]}"
		fi
	done
	upgrades
	clients
	book
else
	covered=()
	[ -z "$cassert" ] || covered=("${below[@]}")
	mapfile -t others < <(but_for "${covered[@]}")
	# From the first build others take what does not depend on the version of PostgreSQL.
	check "building" env PG_CONFIG="$(config_of "${newest:-cassert}")" scripts/build.sh
	# Three lanes on two processors, as tests also wait for disks, locks and one another. The longest parts come first.
	for _ in 1 2 3; do beside lane on_newest on_assertions older lint clients book; done
	wait
fi
say "summary"
sort -rn "$work/summary" | sed 's/\([0-9]*\)\t\(.*\)/\1 s\t\2/'
[ -z "$(grep FAILED "$work/summary")" ]
