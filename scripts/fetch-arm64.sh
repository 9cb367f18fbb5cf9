#!/usr/bin/env bash
# fetch-arm64.sh DIR: a Rust that compiles for arm64, a linker for it, and qemu, out of Debian's packages, which are
# unpacked and not installed. Debian has a recent Rust among its security updates. No root rights needed. Last line on
# standard error: why it failed.
. "$(dirname "$0")/lib.sh"
directory=$1 release=$(. /etc/os-release && echo "${VERSION_CODENAME:-}")
missing() { echo "$1" >&2; exit 1; }
[ "$(dpkg --print-architecture 2>&1)" = amd64 ] || missing "its compiler can be fetched on Debian for amd64 only"

rm -rf "$directory"
mkdir -p "$directory"
trap 'rm -rf "$directory"' EXIT
own="deb [arch=amd64,arm64 signed-by=KEYRING]"
own_apt "$directory/apt" "$own MIRROR $release main
$own MIRROR../debian-security $release-security main"
cd "$directory"
# All that these need, without what every Debian has, a compiler for this machine, and programs for arm64.
mapfile -t packages < <(apt-get install --print-uris -qq rustc-web libstd-rust-web-dev:arm64 gcc-aarch64-linux-gnu \
	libc6-dev-arm64-cross qemu-user-static |
	awk '{
		split($2, file, "_"); name = file[1]
		if (file[3] == "amd64.deb" && name ~ /rust|llvm|qemu|aarch64/) print name ":amd64"
		if (file[3] == "amd64.deb" && name ~ /^lib(bsd|edit|gmp|icu|isl|jansson|md|mpc|mpfr|tinfo|xml|z3|zstd)/)
			print name ":amd64"
		if (file[3] == "arm64.deb" && name == "libstd-rust-web-dev") print name ":arm64"
		if (file[3] == "all.deb" && name ~ /^(libc6|libgcc|linux-libc).*-cross$/) print name
	}')
[ ${#packages[@]} -gt 10 ] || missing "the packages of Debian $release have no rustc-web for arm64"
(cd apt/archives && apt-get download -qq "${packages[@]}")
for package in apt/archives/*.deb; do dpkg-deb -x "$package" .; done
rm -rf apt

usr=$directory/usr
mv "$usr/bin/rustc" "$usr/bin/rustc.elf"
printf '#!/bin/sh\nLD_LIBRARY_PATH=%s exec %s "$@"\n' "'$usr/lib/x86_64-linux-gnu'" "'$usr/bin/rustc.elf'" \
	>"$usr/bin/rustc"
chmod 755 "$usr/bin/rustc"
trap - EXIT
