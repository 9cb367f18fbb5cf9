#!/usr/bin/env bash
# Runs the tests of the engine (crates/sketch), which need no PostgreSQL: all of them, those with a word in their names
# (scripts/engine.sh golden), or as options of cargo test say (--test memory).
. "$(dirname "$0")/lib.sh"
run() { CARGO_TARGET_DIR=$tests_target cargo test --locked --profile quick "${selection[@]}" "$@"; }
case ${1:-} in
--*) run "$@" ;;
*) run --lib --test engine --test memory "$@" && run --doc "$@" ;;
esac
