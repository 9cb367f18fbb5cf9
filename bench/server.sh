#!/bin/bash
# Runs a command beside a private PostgreSQL that has the release build of the
# extension; nothing is installed, and everything is removed at the end.
#
#     bench/server.sh psql
#     PG_CONFIG=/usr/lib/postgresql/16/bin/pg_config bench/server.sh psql
#
# The command finds PGHOST, PGPORT, PGUSER and PGDATABASE set, and in BENCH_DIR a
# folder whose files the server can read. With WITHOUT_EXTENSION=1 nothing is
# built: enough for the peers. The log is kept when something fails.
set -euo pipefail
cd "$(dirname "$0")/.."

if [ $# -eq 0 ]; then
	echo "usage: bench/server.sh COMMAND..." >&2
	exit 2
fi

pg_config=${PG_CONFIG:-pg_config}
bin=$("$pg_config" --bindir)
major=$("$pg_config" --version | sed -E 's/^PostgreSQL ([0-9]+).*/\1/')

# PostgreSQL refuses to run as root.
if [ "$(id -u)" = 0 ]; then
	as_server() { (cd / && runuser -u postgres -- "$@"); }
else
	as_server() { "$@"; }
fi

dir=$(mktemp -d "${TMPDIR:-/tmp}/minlsh-bench.XXXXXX")
stop() {
	status=$?
	trap - EXIT INT TERM
	if [ -f "$dir/data/postmaster.pid" ]; then
		as_server "$bin/pg_ctl" -D "$dir/data" -m immediate stop >/dev/null 2>&1 || true
	fi
	if [ "$status" -ne 0 ] && [ -s "$dir/log" ]; then
		mkdir -p build
		cp "$dir/log" build/bench-server.log
		echo "bench/server.sh: failed; the server's log is build/bench-server.log, its end:" >&2
		tail -n 15 "$dir/log" >&2
	fi
	rm -rf "$dir"
	exit "$status"
}
trap stop EXIT
trap 'exit 130' INT TERM
chmod 755 "$dir"

settings=()
if [ -z "${WITHOUT_EXTENSION:-}" ]; then
	PGRX_PG_CONFIG_PATH=$(command -v "$pg_config") cargo build --quiet --release --lib \
		--no-default-features --features "pg$major"
	stage=$dir/stage
	library=$stage$("$pg_config" --pkglibdir)
	extension=$stage$("$pg_config" --sharedir)/extension
	install -d "$library" "$extension"
	install -m 755 "${CARGO_TARGET_DIR:-target}/release/libminlsh.so" "$library/minlsh.so"
	version=$(sed -nE "s/^default_version *= *'(.*)'/\1/p" minlsh.control)
	install -m 644 minlsh.control "$extension/"
	install -m 644 sql/minlsh.sql "$extension/minlsh--$version.sql"
	if [ "$major" -ge 18 ]; then
		settings+=(-c "extension_control_path=$(dirname "$extension"):\$system" -c "dynamic_library_path=$library:\$libdir")
	else
		settings+=(-c "extension_destdir=$stage") # Debian's and Ubuntu's packages have it
	fi
fi

if [ "$(id -u)" = 0 ]; then
	chown postgres "$dir"
fi
as_server "$bin/initdb" -D "$dir/data" --username=postgres --auth=trust --encoding=UTF8 --locale=C.UTF-8 >/dev/null

# Room for the data, and no background work that falls into one round and not
# into another: tables are vacuumed by the benchmark, at the same points.
settings+=(
	-c "listen_addresses=" -c "unix_socket_directories=$dir"
	-c shared_buffers=2GB -c max_wal_size=16GB -c checkpoint_timeout=1h
	-c autovacuum=off -c jit=off
	-c max_parallel_workers_per_gather=0 -c max_parallel_maintenance_workers=0
)
options=$(printf " '%s'" "${settings[@]}")
if ! as_server "$bin/pg_ctl" -D "$dir/data" -l "$dir/log" -o "$options" -w -t 60 start >/dev/null; then
	echo "bench/server.sh: the server did not start" >&2
	exit 1
fi

export PGHOST=$dir PGPORT=5432 PGUSER=postgres PGDATABASE=postgres BENCH_DIR=$dir PATH=$bin:$PATH
"$@"
