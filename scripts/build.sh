#!/usr/bin/env bash
# Builds the extension for PG_CONFIG; with --where prints where the library is.
. "$(dirname "$0")/lib.sh"
profile=${PROFILE:-release}
target=$root/build/target/$(pg_build)
if [ "${1:-}" = --where ]; then
	echo "$target/$profile/libminlsh.so"
	exit
fi
if ! rust_suffices cargo && [ -e "$target/$profile/libminlsh.so" ]; then
	say "no Rust $rust_wanted here (sudo?): $target/$profile/libminlsh.so is taken as it is"
	exit
fi
rust_suffices cargo || die "no Rust toolchain: install Rust $rust_wanted or newer (cargo and rustc in PATH)"
[ -e "$("$pg_config" --includedir-server)/postgres.h" ] ||
	die "$pg_config has no server headers: install postgresql-server-dev-$(pg_major)"
# What does not depend on the version of PostgreSQL is compiled once: by whoever comes first, while others wait. These
# copy it; if a cargo is at work there again, it ends first.
if [ ! -e "$target/$profile/libminlsh.so" ]; then
	mkdir -p build/target
	exec {first}>"build/target/$profile.lock"
	flock "$first"
	for library in build/target/pg*/"$profile"/libminlsh.so; do
		[ -e "$library" ] && [ ! -e "$target/$profile" ] || continue
		other=$(dirname "$library")
		mkdir -p "$target/$profile"
		flock --shared "$other/.cargo-lock" cp -a "$other"/{build,deps,.fingerprint} "$target/$profile/"
		exec {first}>&-
		break
	done
fi
packages=(-p minlsh --no-default-features)
[ "$profile" != quick ] || [ -z "${TESTS_TARGET:-}" ] || packages=("${selection[@]}")
PGRX_PG_CONFIG_PATH=$pg_config CARGO_TARGET_DIR=$target \
	cargo build --locked --profile "$profile" "${packages[@]}" --features "minlsh/pg$(pg_major)"
