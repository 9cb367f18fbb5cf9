#!/usr/bin/env bash
# Runs tests/pg_regress against a temporary server; with --running against the server that
# PGHOST, PGPORT... name; with --accept takes the output as expected.
# Further arguments: the tests to run (default: all).
. "$(dirname "$0")/lib.sh"
bin=$("$pg_config" --bindir)
mode=temporary
case ${1:-} in --running | --accept) mode=${1#--} && shift ;; esac

# The pg_regress of this server, or of another one if this has none that runs.
find_pg_regress() {
	local config program
	for config in "$pg_config" /usr/lib/postgresql/*/bin/pg_config "$(pg_cache)"/wheel/*/pginstall*/bin/pg_config; do
		program=$("$config" --pkglibdir 2>/dev/null)/pgxs/src/test/regress/pg_regress
		if ("$program" --version) >/dev/null 2>&1; then
			echo "$program"
			return
		fi
	done
	die "no pg_regress: install postgresql-server-dev-$(pg_major)"
}
pg_regress=${PG_REGRESS:-$(find_pg_regress)}

[ $# -gt 0 ] || for file in tests/pg_regress/sql/*.sql; do set -- "$@" "$(basename "$file" .sql)"; done
for name in "$@"; do
	# pg_regress would take a missing file for an empty one.
	[ "$mode" = accept ] || [ -e "tests/pg_regress/expected/$name.out" ] ||
		die "tests/pg_regress/expected/$name.out is missing: make accept"
done
show_differences() { cat "$1/regression.diffs" 2>/dev/null || tail -n 40 "$1"/log/*.log; }

# input DIR: what pg_regress reads, with the texts that some tests have the server load.
input() {
	mkdir -p "$1"
	cp -r tests/pg_regress "$1/input"
	cp -r examples "$1/input/examples"
	chmod -R a+rX "$1"
}
if [ "$mode" = running ]; then
	output=$(mktemp -d /tmp/minlsh-installcheck.XXXXXX) # whoever runs the server can read there
	trap 'rm -rf "$output"' EXIT
	input "$output"
	"$pg_regress" --inputdir="$output/input" --outputdir="$output" --bindir="$bin" \
		--encoding=UTF8 --no-locale --load-extension=minlsh --dbname=minlsh_regression "$@" ||
		{ show_differences "$output"; exit 1; }
	exit
fi

forget_connection_settings
trap remove_run_dir EXIT
make_run_dir regress
input "$run_dir"
mkdir "$run_dir/stage"
stage "$run_dir/stage" >"$run_dir/settings"
cat >>"$run_dir/settings" <<-END
	fsync = off
	autovacuum_naptime = 1d
	max_parallel_workers_per_gather = 2
END
if [ "$mode" = accept ]; then
	for name in "$@"; do touch "$run_dir/input/expected/$name.out"; done
fi
chmod -R a+rX "$run_dir"
[ "$(id -u)" != 0 ] || chown -R "$server_user" "$run_dir"
status=0
as_server_user "$pg_regress" --temp-instance="$run_dir/instance" --temp-config="$run_dir/settings" \
	--inputdir="$run_dir/input" --outputdir="$run_dir" --bindir="$bin" \
	--encoding=UTF8 --no-locale --load-extension=minlsh --dbname=regression --port="${REGRESS_PORT:-61$(pg_major)}" \
	"$@" || status=$?
if [ "$mode" = accept ]; then
	for name in "$@"; do cp "$run_dir/results/$name.out" tests/pg_regress/expected/; done
	git --no-pager diff --stat -- tests/pg_regress/expected 2>/dev/null || true
	exit 0
fi
[ "$status" = 0 ] || show_differences "$run_dir"
exit "$status"
