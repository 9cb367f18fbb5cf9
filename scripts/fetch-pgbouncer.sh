#!/usr/bin/env bash
# fetch-pgbouncer.sh DIR: PgBouncer from the packages of this machine's own Debian release, with the libraries that it
# needs. It needs no root rights and installs nothing. Last line on standard error: why it failed.
. "$(dirname "$0")/lib.sh"
directory=$1
[ ! -e "$directory/pgbouncer" ] || exit 0
rm -rf "$directory"
mkdir -p "$directory"
trap 'rm -rf "$directory"' EXIT
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
own_apt "$directory/apt" "deb [signed-by=KEYRING] MIRROR $release main"
cd "$directory"
(cd apt/archives && apt-get download -qq pgbouncer libc-ares2 libevent-2.1-7)
for package in apt/archives/*.deb; do dpkg-deb -x "$package" files; done
rm -rf apt
mkdir lib
find files -name '*.so.*' -exec cp -d {} lib/ \;
cp files/usr/sbin/pgbouncer program
rm -rf files
cat >pgbouncer <<-'END'
	#!/bin/sh
	# PgBouncer refuses to run as root. The other user may not be able to read the files in this directory.
	here=$(dirname "$0")
	export LD_LIBRARY_PATH="$here/lib"
	[ "$(id -u)" = 0 ] || exec "$here/program" "$@"
	user=postgres
	id -u $user >/dev/null 2>&1 || user=nobody
	copy=$(mktemp -d /tmp/minlsh-pgbouncer.XXXXXX)
	cp ./*.ini ./*.txt "$copy"
	chown -R $user "$copy"
	cd "$copy"
	"$here/program" -u $user "$@" &
	trap 'kill $!; rm -rf "$copy"' EXIT
	trap 'exit' TERM INT HUP
	wait $!
	END
chmod 755 pgbouncer program
LD_LIBRARY_PATH=lib ./program --version >/dev/null
chmod -R a+rX "$directory"
trap - EXIT
