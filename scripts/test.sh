#!/usr/bin/env bash
# make test: everything once, by quick builds. Each file of integration tests runs on one PostgreSQL: those of pages,
# locks, snapshots and memory on the server with assertions, if it is there, the others on the newest version;
# regression tests run on the oldest and the newest version, as the extension is compiled for minutes for each one.
# make test-all (--all): everything on every version, the oldest by the build that is installed, and the engine's fuzz
# targets; each test as long as it can be (MINLSH_THOROUGH).
# With a version: everything on that one.
here=$(dirname "$0")
"$here/install-dependencies.sh" --test || exit
. "$here/lib.sh"
all=
[ "${1:-}" != --all ] || { all=1 && shift && export MINLSH_THOROUGH=1; }
work=$(mktemp -d)
: >"$work/seconds"
groups=()
trap 'kill -TERM -- "${groups[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

# What assertions are about.
below=(access_method concurrency differential dump_restore interruption near_unique replication torture)
# What takes minutes on the newest version, in all, apart from its others: so that lanes end together.
minutes=(cancel hands refused_memory)
# Likewise.
attacks=(attacks)
further=(clusters corpus documentation gates long_texts passages types values)
# What compares with Python packages, or with published figures: for make test-all. Known answers are in the others.
peers=(datasketch experiments)
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

# check NAME COMMAND...: runs a part, and notes how it went, and the seconds of its files of tests.
check() {
	local name=$1 start=$SECONDS outcome=passed output TESTS_TARGET
	TESTS_TARGET=$(tests_target)
	export TESTS_TARGET
	shift
	say "$name"
	output=$(mktemp "$work/output.XXXXXX")
	"$@" </dev/null 2>&1 | tee "$output" || outcome=FAILED
	printf '%s\t%s\n' $((SECONDS - start)) "$name: $outcome" >>"$work/summary"
	seconds_of_files <"$output" | awk -v OFS='\t' -v name="$name" '{ $1 = $1; print $0, name }' >>"$work/seconds"
}
# integration PG_CONFIG NAME...: these integration tests.
integration() {
	local selected
	mapfile -t selected < <(tests "${@:2}")
	PG_CONFIG=$1 scripts/integration.sh "${selected[@]}" ${skipped:+-- --skip "$skipped"}
}
# Regression tests, and the integration tests NAME... or none.
test_version() {
	local status=0
	PG_CONFIG=$1 scripts/regress.sh || status=1
	[ $# = 1 ] || integration "$@" || status=1
	return $status
}

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

wanted=(15 16 17 18 19 cassert)
if [ $# != 0 ]; then
	wanted=("$@")
elif [ -z "$all" ] && [ ! -e "$(pg_cache)/cassert/bin/pg_config" ]; then
	# It is compiled for ten minutes, beside all else.
	wanted=(15 16 17 18 19)
	printf "0\tPostgreSQL with assertions: SKIPPED: 'make cassert' and 'make test-all' compile it\n" >>"$work/summary"
fi
# config_of VERSION: its pg_config, or nothing if it cannot be had. Whoever asks first fetches it, and others wait for
# that. Some versions come in one package.
config_of() {
	local found=$work/version.$1 kind=released
	[[ " ${wanted[*]} " == *" $1 "* ]] || return 0
	[ "$1" != cassert ] || kind=cassert
	if [ ! -e "$found" ]; then
		exec {lock}>"$work/$kind.lock"
		flock "$lock"
		if [ ! -e "$found" ]; then
			scripts/postgres-versions.sh "$1" >"$found.new"
			awk -F'\t' -v OFS='\t' '$2 ~ /^SKIPPED/ { print 0, "PostgreSQL " $1 ": " $2 }' "$found.new" >>"$work/summary"
			mv "$found.new" "$found"
		fi
		exec {lock}>&-
	fi
	awk -F'\t' '$2 !~ /^SKIPPED/ { print $2 }' "$found"
}
# Fetches the released versions before they are needed.
fetch() {
	local number
	for number in 19 15; do config_of $number >/dev/null; done
}
# The newest version that can be had, or nothing.
newest() {
	local number
	for number in 19 18 17 16 15; do
		[ -z "$(config_of $number)" ] || { echo $number && return; }
	done
}
export PROFILE=quick

# Where tests are compiled: beside the newest version's extension, with which they share the engine.
tests_target() {
	local number config
	number=$(newest)
	config=$(config_of "${number:-cassert}")
	[ -z "$config" ] || echo "$root/build/target/$(pg_config=$config pg_build)"
}

engine() {
	if [ -n "$all" ]; then
		check "engine" make -s engine
	else
		check "engine" engine_by_interface
	fi
}
# Without the unit tests: all of the engine would be compiled again for these.
engine_by_interface() {
	make -s engine TESTS='--test engine --test memory' && make -s engine TESTS=--doc
}
# with_assertions NAME COMMAND TEST...: `test_version` or `integration`; without such a server on the newest version.
with_assertions() {
	local config
	config=$(config_of cassert)
	if [ -n "$config" ]; then
		check "$1" "$2" "$config" "${@:3}"
	elif [ -z "$all" ]; then
		on_newest_alone "${@:3}"
	fi
}
on_assertions() { with_assertions "PostgreSQL with assertions" test_version "${below[@]}" ${all:+attacks values}; }
# version NUMBER PROFILE [TEST...]
version() {
	PROFILE=$2 check "PostgreSQL $1, $2 build" test_version "$(config_of "$1")" "${@:3}"
}
on_newest() {
	local number others
	number=$(newest)
	mapfile -t others < <(but_for "${below[@]}" "${attacks[@]}" "${minutes[@]}" "${further[@]}" "${peers[@]}")
	[ -z "$number" ] || version "$number" quick "${others[@]}"
}
# on_newest_alone TEST...: without regression tests.
on_newest_alone() {
	local number
	number=$(newest)
	[ -z "$number" ] || check "PostgreSQL $number, quick build: $*" integration "$(config_of "$number")" "$@"
}
attacked() {
	# Those with hundreds of thousands of rows take two minutes.
	local skipped=resources::many_
	on_newest_alone "${attacks[@]}"
}
for_minutes() { on_newest_alone "${minutes[@]}"; }
for_further() { on_newest_alone "${further[@]}"; }
lint() {
	local number
	number=$(newest)
	check "lint" env PG_CONFIG="$(config_of "${number:-cassert}")" scripts/lint.sh
}
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
	done <<<"16 18"$'\n'"18 19"
}
# older NUMBER: regression tests on a version, unless another part has them.
older() {
	local asserted
	asserted=$(config_of cassert)
	[ -z "$asserted" ] || asserted=$(pg_config=$asserted pg_major)
	if [ "$1" = "$(newest)" ] || [ -z "$(config_of "$1")" ]; then
		return
	elif [ "$1" = "$asserted" ]; then
		printf '0\tPostgreSQL %s: by the server with assertions\n' "$1" >>"$work/summary"
	else
		version "$1" quick
	fi
}
on_15() { older 15; }
clients() {
	local number
	number=$(newest)
	[ -z "$number" ] || check "clients" env PG_CONFIG="$(config_of "$number")" scripts/clients.sh
}
book() {
	if PATH=$PATH:$root/build/mdbook/bin command -v mdbook >/dev/null; then
		check "book" scripts/book.sh
	else
		printf "0\tbook: SKIPPED: there is no mdbook here; 'make book' compiles one\n" >>"$work/summary"
	fi
}
every_version() {
	local number newest dependent profile=release
	newest=$(newest)
	mapfile -t dependent < <(but_for "${once[@]}")
	for number in 15 16 17 18 19; do
		[ -n "$(config_of $number)" ] || continue
		if [ "$number" = "$newest" ]; then
			version "$number" $profile "${dependent[@]}" "${once[@]}"
		else
			version "$number" $profile "${dependent[@]}"
		fi
		# The oldest is built as it is installed, the others in half the time.
		profile=quick
	done
}

if [ -n "$all" ]; then
	lint
	engine
	check "fuzzing the engine" scripts/fuzz.sh --engine
	on_assertions
	every_version
	upgrades
	clients
	book
else
	# Three lanes on two processors, as tests also wait for disks, locks and one another. The longest parts come first,
	# and those that wait for the network or for a time are not the last.
	parts=(on_newest engine on_15 on_assertions attacked for_further for_minutes clients lint book)
	beside fetch
	for _ in 1 2 3; do beside lane "${parts[@]}"; done
	wait
fi
[ -n "$(newest)$(config_of cassert)" ] || die "no PostgreSQL could be tested"
say "seconds of each file of tests"
sort -rn "$work/seconds" | sed 's/\t/ s\t/'
say "summary"
sort -rn "$work/summary" | sed 's/\([0-9]*\)\t\(.*\)/\1 s\t\2/'
[ -z "$(grep FAILED "$work/summary")" ]
