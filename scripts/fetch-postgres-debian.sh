#!/usr/bin/env bash
# fetch-postgres-debian.sh DIR RELEASE VERSION: PostgreSQL VERSION with its headers, out of the
# packages of a newer Debian RELEASE than this machine's. They are unpacked, not installed, with
# the libraries they were built with beside them; each program is started through the C library's
# loader found there. No root rights needed. Last line on standard error: why it failed.
. "$(dirname "$0")/lib.sh"
directory=$1 release=$2 version=$3
missing() { echo "$1" >&2; exit 1; }
[ "$(dpkg --print-architecture 2>&1)" = amd64 ] || missing "postgresql-$version can be fetched for Debian on amd64 only"

rm -rf "$directory"
mkdir -p "$directory"
trap 'rm -rf "$directory"' EXIT
sources="deb [signed-by=KEYRING] MIRROR $release main"
# What experimental has depends on what sid has.
[ "$release" != experimental ] || sources+=$'\n'${sources/experimental/sid}
own_apt "$directory/apt" "$sources"
cd "$directory"
# The server's packages, and the libraries among what they depend on; not LLVM, which is for JIT. A trial installation
# would name them too, but fails while sid rebuilds its Perl.
server=(libpq5 "postgresql-$version" "postgresql-client-$version" "postgresql-server-dev-$version")
mapfile -t shared < <(apt-cache depends --recurse --no-recommends --no-suggests --no-conflicts --no-breaks \
	--no-replaces --no-enhances "${server[@]:1:2}" |
	grep -E '^(lib|zlib1g$)' | grep -vE '^lib(llvm|z3|pq5|.*perl)' | sort -u)
[ ${#shared[@]} -gt 10 ] || missing "the packages of $release have no postgresql-$version"
(cd apt/archives && apt-get download -qq -t "$release" "${server[@]}" && apt-get download -qq "${shared[@]}")
for package in apt/archives/*.deb; do dpkg-deb -x "$package" .; done
rm -rf apt

libraries=$directory/usr/lib/x86_64-linux-gnu
home=$directory/usr/lib/postgresql/$version
# LLVM was left out: without this file the server knows that there is no JIT.
rm -rf "$home/lib/llvmjit.so" "$home/lib/bitcode"
for program in "$home"/bin/* "$home"/lib/pgxs/src/test/regress/pg_regress; do
	[ "$(head -c 4 "$program" | tail -c 3)" = ELF ] || continue
	elf=$(dirname "$program")/.elf
	mkdir -p "$elf"
	mv "$program" "$elf/"
	cat >"$program" <<-END
		#!/bin/sh
		exec '$libraries/ld-linux-x86-64.so.2' --library-path '$libraries' --argv0 "\$0" '$elf/$(basename "$program")' "\$@"
	END
	chmod 755 "$program"
done
chmod -R a+rX "$directory"
trap - EXIT
