#!/usr/bin/env bash
# Runs tests/pg_regress against a temporary server; with --running against the server that
# PGHOST, PGPORT... name; with --accept takes the output as expected.
. "$(dirname "$0")/lib.sh"
pg_regress=$("$pg_config" --pkglibdir)/pgxs/src/test/regress/pg_regress
[ -x "${PG_REGRESS:=$pg_regress}" ] || die "no pg_regress at $PG_REGRESS"
tests=()
for file in tests/pg_regress/sql/*.sql; do
	name=$(basename "$file" .sql)
	# pg_regress would create a missing file's output; a test without expectation is none.
	[ "${1:-}" = --accept ] || [ -e "tests/pg_regress/expected/$name.out" ] ||
		die "tests/pg_regress/expected/$name.out is missing"
	[ -e "tests/pg_regress/expected/$name.out" ] || touch "tests/pg_regress/expected/$name.out"
	tests+=("$name")
done
if [ "${1:-}" = --running ]; then
	mkdir -p build/installcheck
	exec "$PG_REGRESS" --use-existing --dbname="${PGDATABASE:-$(id -un)}" --inputdir=tests/pg_regress \
		--outputdir=build/installcheck --bindir="$("$pg_config" --bindir)" "${tests[@]}"
fi

trap remove_run_dir EXIT
make_run_dir regress
cp -r tests/pg_regress "$run_dir/input"
cp -r examples "$run_dir/input/examples"
mkdir "$run_dir/stage"
stage "$run_dir/stage" >"$run_dir/settings"
cat >>"$run_dir/settings" <<-END
	fsync = off
	autovacuum_naptime = 1d
	max_parallel_workers_per_gather = 2
END
chmod -R a+rX "$run_dir"
[ "$(id -u)" != 0 ] || chown -R "$server_user" "$run_dir"
status=0
as_server_user env TZ=UTC "$PG_REGRESS" --temp-instance="$run_dir/instance" --temp-config="$run_dir/settings" \
	--inputdir="$run_dir/input" --outputdir="$run_dir" --bindir="$("$pg_config" --bindir)" \
	--encoding=UTF8 --no-locale --load-extension=minlsh --dbname=regression --port="${REGRESS_PORT:-61$(pg_major)}" \
	"${tests[@]}" || status=$?
if [ "${1:-}" = --accept ]; then
	cp "$run_dir"/results/*.out tests/pg_regress/expected/
	exit 0
fi
[ "$status" = 0 ] || cat "$run_dir/regression.diffs" 2>/dev/null || tail -n 40 "$run_dir"/log/*.log
exit "$status"
