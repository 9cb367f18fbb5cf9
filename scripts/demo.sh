#!/usr/bin/env bash
# make demo: near-duplicates in real text, in a throw-away server that is stopped at the end.
here=$(dirname "$0")
"$here/install-dependencies.sh" || exit
. "$here/lib.sh"
# Built in half the time that `make install` takes, and as good for a look.
export PROFILE=${PROFILE:-quick}
say "building the extension for PostgreSQL $(pg_major): about 8 minutes of processor time at the first time"
forget_connection_settings
trap remove_run_dir EXIT
make_run_dir demo
bin=$("$pg_config" --bindir)
mkdir "$run_dir/stage" "$run_dir/socket"
stage "$run_dir/stage" >"$run_dir/settings"
cp -r examples "$run_dir/"
chmod -R a+rX "$run_dir"
[ "$(id -u)" != 0 ] || chown -R "$server_user" "$run_dir"
say "starting a private PostgreSQL"
as_server_user "$bin/initdb" -D "$run_dir/data" -U "$server_user" -E UTF8 --no-locale -A trust >"$run_dir/initdb.log"
cat "$run_dir/settings" >>"$run_dir/data/postgresql.conf"
as_server_user "$bin/pg_ctl" -D "$run_dir/data" -l "$run_dir/log" -w -s \
	-o "-c listen_addresses= -c unix_socket_directories=$run_dir/socket -c fsync=off" start ||
	{ cat "$run_dir/log" >&2; exit 1; }
as_server_user "$bin/psql" -X -q -h "$run_dir/socket" -U "$server_user" -d postgres \
	-v ON_ERROR_STOP=1 -v licenses="$run_dir/examples/licenses/licenses.csv" -f "$run_dir/examples/demo.sql"
