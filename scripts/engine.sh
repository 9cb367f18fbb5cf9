#!/usr/bin/env bash
# The tests of the engine (crates/sketch), which need no PostgreSQL.
. "$(dirname "$0")/lib.sh"
CARGO_TARGET_DIR=$root/build/target/engine cargo test --locked -p minlsh-sketch "$@"
