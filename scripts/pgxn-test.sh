#!/usr/bin/env bash
# make pgxn-test: META.json is what PGXN takes, and the archive that `make dist` makes builds, installs, passes the
# regression tests and uninstalls by PGXN's client. What cannot be had is SKIPPED.
. "$(dirname "$0")/lib.sh"
skip() { echo "$1: SKIPPED: $2" >&2; }

validator=build/tools/bin/pgxn_meta
if [ -x "$validator" ] || cargo install --quiet --locked --root build/tools pgxn_meta@0.7.0; then
	"$validator" META.json
else
	skip "META.json" "the crate pgxn_meta cannot be had here"
fi
archive=$root/$(scripts/dist.sh)
if ! command -v pgxn >/dev/null; then
	skip "PGXN" "pgxnclient is not installed"
	exit
fi

forget_connection_settings
trap remove_run_dir EXIT
make_run_dir pgxn
bin=$("$pg_config" --bindir)
pgxn_client() { pgxn "$1" --pg_config "$pg_config" "${@:2}" "$archive"; }
stage "$run_dir/stage" pgxn_client install --nosudo >"$run_dir/settings"
chmod -R a+rX "$run_dir"
as_server_user "$bin/initdb" -D "$run_dir/data" -U "$server_user" -A trust -N -E UTF8 --no-locale >/dev/null
cat "$run_dir/settings" - >>"$run_dir/data/postgresql.conf" <<-END
	listen_addresses = ''
	unix_socket_directories = '$run_dir'
	fsync = off
END
as_server_user "$bin/pg_ctl" -w -s -D "$run_dir/data" -l "$run_dir/log" start >/dev/null
pgxn_client check --host "$run_dir" --username "$server_user" --dbname postgres
DESTDIR=$run_dir/stage pgxn_client uninstall --nosudo
left=$(find "$run_dir/stage" -type f)
[ -z "$left" ] || die "pgxn uninstall left $left"
say "PGXN: $(basename "$archive") installs, passes its tests and uninstalls"
