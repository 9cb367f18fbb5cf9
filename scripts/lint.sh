#!/usr/bin/env bash
# Format and lints, with warnings denied.
. "$(dirname "$0")/lib.sh"
for tool in fmt clippy; do
	cargo "$tool" --version >/dev/null 2>&1 || die "cargo $tool is missing: rustup component add rustfmt clippy"
done
cargo fmt --all --check
PGRX_PG_CONFIG_PATH=$pg_config CARGO_TARGET_DIR=$root/build/target/lint \
	cargo clippy --locked --workspace --all-targets --no-default-features --features "pg$(pg_major)" -- -D warnings
if command -v shellcheck >/dev/null; then
	shellcheck -S warning -x -P SCRIPTDIR scripts/*.sh .ci/run
fi
