# Shared by the other scripts: `. scripts/lib.sh`.
# shellcheck shell=bash
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
root=$PWD
# A backtrace would be added as DETAIL to every error and spoil the expected output.
unset RUST_BACKTRACE

say() { printf '\n== %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

pg_config=${PG_CONFIG:-$(scripts/pg-config.sh)}
pg_major() { "$pg_config" --version | sed 's/^PostgreSQL \([0-9]*\).*/\1/'; }

# PostgreSQL refuses to run as root: then its servers run as an unprivileged user.
if [ "$(id -u)" = 0 ]; then
	if id postgres >/dev/null 2>&1; then server_user=postgres; else server_user=nobody; fi
	as_server_user() { (cd / && runuser -u "$server_user" -- "$@"); }
else
	server_user=$(id -un)
	as_server_user() { "$@"; }
fi

# make_run_dir NAME: a fresh directory that the servers' user can reach and write, in $run_dir.
# Below build/ if that user can get there, else below /tmp. Removed by remove_run_dir.
make_run_dir() {
	mkdir -p build/run
	if as_server_user test -x "$root/build/run"; then
		run_dir=$(mktemp -d "$root/build/run/$1.XXXXXX")
	else
		run_dir=$(mktemp -d "/tmp/minlsh-$1.XXXXXX")
	fi
	chmod 755 "$run_dir"
	[ "$(id -u)" != 0 ] || chown "$server_user" "$run_dir"
}
remove_run_dir() { [ -z "${run_dir:-}" ] || rm -rf "$run_dir"; }

# stage DIR: installs the extension below DIR, and prints the settings with which a server
# finds it there. A server of our own (below build/ or the cache) gets it installed in place.
stage() {
	local share lib
	share=$("$pg_config" --sharedir) lib=$("$pg_config" --pkglibdir)
	if [ -w "$share/extension" ] && [ -e "$("$pg_config" --bindir)/../minlsh-private" ]; then
		make -s install PG_CONFIG="$pg_config" DESTDIR= >&2
		return
	fi
	make -s install PG_CONFIG="$pg_config" DESTDIR="$1" >&2
	if [ "$(pg_major)" -ge 18 ]; then
		echo "extension_control_path = '$1$share:\$system'"
		echo "dynamic_library_path = '$1$lib:\$libdir'"
	else
		# Debian's servers of 15 to 17 have this setting.
		echo "extension_destdir = '$1'"
	fi
}
