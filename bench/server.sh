#!/usr/bin/env bash
# Runs a command beside a private PostgreSQL that has the release build of the
# extension; nothing is installed, and everything is removed at the end.
#
#     bench/server.sh psql
#     PG_CONFIG=/usr/lib/postgresql/16/bin/pg_config bench/server.sh psql
#
# The command finds PGHOST, PGPORT, PGUSER and PGDATABASE set, and in BENCH_DIR a
# folder whose files the server can read. BENCH_SETTINGS: more lines for its
# postgresql.conf, which win over those below. BENCH_DATA: a folder for the data, which
# is kept, and taken up again by the next call. When the command fails, the server's log
# is kept as build/bench-server.log.
. "$(dirname "$0")/../scripts/lib.sh"

[ $# -gt 0 ] || die "usage: bench/server.sh COMMAND..."
bin=$("$pg_config" --bindir)
make_run_dir bench
if [ -n "${BENCH_DATA:-}" ]; then
	mkdir -p "$BENCH_DATA"
	[ "$(id -u)" != 0 ] || chown "$server_user" "$BENCH_DATA"
	as_server_user test -w "$BENCH_DATA" || die "the server's user, $server_user, cannot reach $BENCH_DATA"
	data=$BENCH_DATA/data
	how=fast
	# Of a run that was killed.
	if [ -e "$data/postmaster.pid" ]; then
		as_server_user "$bin/pg_ctl" -D "$data" -m fast -w -t 3600 -s stop || true
	fi
else
	data=$run_dir/data
	how=immediate
fi

stop() {
	status=$?
	trap - EXIT INT TERM
	as_server_user "$bin/pg_ctl" -D "$data" -m "$how" -w -t 3600 stop >/dev/null 2>&1 || true
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
# Renamed when it is whole: what an interrupted initdb left is not taken for data.
if [ ! -e "$data" ]; then
	rm -rf "$data.new"
	as_server_user "$bin/initdb" -D "$data.new" --username=postgres --auth=trust \
		--encoding=UTF8 --locale=C >"$run_dir/initdb.log"
	echo "include 'bench.conf'" >>"$data.new/postgresql.conf"
	mv "$data.new" "$data"
fi

# Room for the data, and no background work that falls into one round and not
# into another: the benchmark vacuums its tables, at the same points of each.
cat >"$data/bench.conf" <<-END
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
	maintenance_work_mem = 64MB
	${BENCH_SETTINGS:-}
END
as_server_user "$bin/pg_ctl" -D "$data" -l "$run_dir/log" -w -t 3600 -s start

export PGHOST=$run_dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres BENCH_DIR=$run_dir PATH=$bin:$PATH
"$@"
