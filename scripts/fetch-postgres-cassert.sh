#!/usr/bin/env bash
# fetch-postgres-cassert.sh DIR: PostgreSQL with its assertions on (--enable-cassert), compiled from the source package
# of this machine's own Debian release. No root rights needed; takes some minutes. Last line on standard error: why it
# failed.
. "$(dirname "$0")/lib.sh"
directory=$1
missing() { echo "$1" >&2; exit 1; }
for program in gcc make perl bzip2 dpkg; do
	command -v $program >/dev/null || missing "there is no $program to compile it with"
done
release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")

rm -rf "$directory"
mkdir -p "$directory"
trap 'rm -rf "$directory"' EXIT
own_apt "$directory/apt" "deb-src [signed-by=KEYRING] MIRROR $release main"
package=
for major in 15 16 17 18 19; do
	apt-cache showsrc --only-source "postgresql-$major" 2>&1 | grep -q '^Package:' && package=postgresql-$major && break
done
[ -n "$package" ] || missing "the sources of $release have no PostgreSQL that is supported"
cd "$directory"
(cd apt/archives && apt-get source -qq --download-only "$package")
mkdir source
tar -xjf apt/archives/"$package"_*.orig.tar.bz2 -C source --strip-components 1
cd source
# Compiled for its assertions: neither quick nor with more than the tests need, which is the server, its programs, and
# one of the extensions. ECPG, which compiles C with SQL in it, is no part of that.
sed -i 's/ ecpg$//' src/interfaces/Makefile
./configure --quiet --prefix="$directory" --enable-cassert --without-readline --without-zlib CFLAGS=-O1
# Where `make test` calls us, this make would take itself for a part of that one, and make no headers first. To
# PostgreSQL, PROFILE means flags of the compiler.
unset MAKELEVEL MAKEFLAGS MFLAGS PROFILE
for part in src contrib/citext; do
	make --silent -j"$(nproc)" -C $part
	make --silent -C $part install
done
cd "$directory"
rm -rf apt source
chmod -R a+rX "$directory"
trap - EXIT
