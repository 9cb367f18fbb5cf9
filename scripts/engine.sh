#!/usr/bin/env bash
# Runs the tests of the engine (crates/sketch), which need no PostgreSQL: all of them, those with a word in their names
# (scripts/engine.sh golden), or as options of cargo test say (--test memory).
. "$(dirname "$0")/lib.sh"
run() { CARGO_TARGET_DIR=$tests_target cargo test --locked --profile quick "$@"; }
# With the others selected, --lib would build the extension.
case ${1:-} in
--lib) run -p minlsh-sketch "$@" ;;
--*) run "${selection[@]}" "$@" ;;
*)
	run -p minlsh-sketch --lib "$@"
	run "${selection[@]}" --test engine --test memory "$@"
	run "${selection[@]}" --doc "$@"
	;;
esac
