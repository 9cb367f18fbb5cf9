#!/usr/bin/env bash
# make arm64: the engine's tests as arm64, which has none of the kernels for x86_64: on such a machine as they are,
# elsewhere compiled for it and run under qemu.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" != aarch64 ] || exec make -s engine TESTS="$*"
cache=$root/build/arm64
if [ ! -x "$cache/usr/bin/rustc" ]; then
	say "fetching a compiler for arm64, and qemu"
	why=$(scripts/fetch-arm64.sh "$cache" 2>&1) || { echo "arm64: SKIPPED: ${why##*$'\n'}" && exit; }
fi
usr=$cache/usr
export RUSTC=$usr/bin/rustc CARGO_TARGET_DIR=$root/build/target/arm64 LD_LIBRARY_PATH=$usr/lib/x86_64-linux-gnu
export CC_aarch64_unknown_linux_gnu=$usr/bin/aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=$usr/bin/aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=$usr/bin/qemu-aarch64-static
# Linked statically: the linker's script of the C library names files where it would be installed.
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUSTFLAGS="-C target-feature=+crt-static -L $usr/aarch64-linux-gnu/lib"
say "the engine's tests as arm64, by $("$RUSTC" --version)"
# Without the examples of the documentation: rustdoc is of another Rust.
cargo test --locked --release --tests -p minlsh-sketch -p minlsh-engine-tests --target aarch64-unknown-linux-gnu "$@"
