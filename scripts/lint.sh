#!/usr/bin/env bash
# Format and lints, with warnings denied.
. "$(dirname "$0")/lib.sh"
say "format"
cargo fmt --all --check
say "lint"
PGRX_PG_CONFIG_PATH=$pg_config CARGO_TARGET_DIR=$root/build/target/lint \
	cargo clippy --locked --workspace --all-targets --no-default-features --features "pg$(pg_major)" -- -D warnings
