#!/usr/bin/env bash
# Runs a command beside a private PostgreSQL that has the release build of the
# extension; nothing is installed, and everything is removed at the end.
#
#     bench/server.sh psql
#     PG_CONFIG=/usr/lib/postgresql/16/bin/pg_config bench/server.sh psql
#
# The command finds PGHOST, PGPORT, PGUSER and PGDATABASE set, and in BENCH_DIR a
# folder whose files the server can read. BENCH_SETTINGS: more lines for its
# postgresql.conf, which win over those below. When the command fails, the server's
# log is kept as build/bench-server.log.
. "$(dirname "$0")/../scripts/lib.sh"

[ $# -gt 0 ] || die "usage: bench/server.sh COMMAND..."
bin=$("$pg_config" --bindir)
make_run_dir bench

stop() {
	status=$?
	trap - EXIT INT TERM
	as_server_user "$bin/pg_ctl" -D "$run_dir/data" -m immediate stop >/dev/null 2>&1 || true
	if [ "$status" -ne 0 ] && [ -s "$run_dir/log" ]; then
		cp "$run_dir/log" build/bench-server.log
		echo "bench/server.sh: failed; build/bench-server.log ends with:" >&2
		tail -n 15 "$run_dir/log" >&2
	fi
	remove_run_dir
	exit "$status"
}
trap stop EXIT
trap 'exit 130' INT TERM

mkdir "$run_dir/stage"
settings=$(PROFILE=release stage "$run_dir/stage")
as_server_user "$bin/initdb" -D "$run_dir/data" --username=postgres --auth=trust \
	--encoding=UTF8 --locale=C >"$run_dir/initdb.log"

# Room for the data, and no background work that falls into one round and not
# into another: the benchmark vacuums its tables, at the same points of each.
cat >>"$run_dir/data/postgresql.conf" <<-END
	$settings
	listen_addresses = ''
	unix_socket_directories = '$run_dir'
	shared_buffers = 2GB
	max_wal_size = 16GB
	checkpoint_timeout = 1h
	autovacuum = off
	jit = off
	max_parallel_workers_per_gather = 0
	max_parallel_maintenance_workers = 0
	${BENCH_SETTINGS:-}
END
as_server_user "$bin/pg_ctl" -D "$run_dir/data" -l "$run_dir/log" -w -t 60 -s start

export PGHOST=$run_dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres BENCH_DIR=$run_dir PATH=$bin:$PATH
"$@"
