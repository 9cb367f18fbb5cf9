#!/usr/bin/env bash
# fetch-postgres-debian.sh DIR RELEASE VERSION: PostgreSQL VERSION with its headers, out of the
# packages of a newer Debian RELEASE than this machine's. They are unpacked, not installed, with
# the libraries they were built with beside them; each program is started through the C library's
# loader found there. No root rights needed. Last line on standard error: why it failed.
. "$(dirname "$0")/lib.sh"
directory=$1 release=$2 version=$3
missing() { echo "$1" >&2; exit 1; }
command -v apt-get >/dev/null || missing "postgresql-$version is not installed, and there is no apt-get to fetch it"
[ "$(dpkg --print-architecture)" = amd64 ] || missing "postgresql-$version can be fetched for amd64 only"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
mirror=$(debian_mirror)
[ -n "$mirror" ] && [ -e "$keyring" ] ||
	missing "postgresql-$version is not installed, and only Debian's packages can be fetched"

rm -rf "$directory"
mkdir -p "$directory/apt/lists/partial" "$directory/apt/archives/partial"
cd "$directory"
trap 'rm -rf "$directory"' EXIT
# An apt of our own: it shares nothing with the system's but how to reach the mirror.
: >apt/status
echo "deb [signed-by=$keyring] $mirror $release main" >apt/sources.list
mkdir apt/parts
mirror_settings >apt/apt.conf
cat >>apt/apt.conf <<-END
	Dir::State "$directory/apt";
	Dir::State::status "$directory/apt/status";
	Dir::Cache "$directory/apt";
	Dir::Etc::sourcelist "$directory/apt/sources.list";
	Dir::Etc::sourceparts "$directory/apt/parts";
	Dir::Etc::parts "$directory/apt/parts";
	APT::Install-Recommends "false";
	APT::Sandbox::User "root";
	Acquire::Languages "none";
	Debug::NoLocking "true";
END
export APT_CONFIG=$directory/apt/apt.conf
apt-get update -qq
# The server's packages, and the libraries among what they depend on; not LLVM, which is for JIT.
mapfile -t packages < <(apt-get install --print-uris -qq "postgresql-$version" |
	awk '{ sub("_.*", "", $2); print $2 }' |
	grep -E "^(lib.*|zlib1g|postgresql-(client-)?$version)\$" | grep -vE '^lib(llvm|z3|perl|json-perl|ipc-run-perl)')
[ ${#packages[@]} -gt 10 ] || missing "the packages of $release have no postgresql-$version"
(cd apt/archives && apt-get download -qq "${packages[@]}" "postgresql-server-dev-$version")
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
