#!/usr/bin/env bash
# Runs the integration tests (tests/integration) against servers that they start themselves.
# Arguments go to cargo test: scripts/integration.sh --test interruption a_crash
# Prints the seconds that each file took, the slowest first.
. "$(dirname "$0")/lib.sh"
forget_connection_settings
trap remove_run_dir EXIT
make_run_dir integration
mkdir "$run_dir/stage"
stage "$run_dir/stage" >"$run_dir/settings"
cp -r examples "$run_dir/"
chmod -R a+rX "$run_dir"
# The selection has the engine's tests, too.
if [[ " $* " != *" --test "* ]]; then
	for file in tests/integration/tests/*; do set -- --test "$(basename "$file" .rs)" "$@"; done
fi
status=0
MINLSH_PG_BIN=$("$pg_config" --bindir) MINLSH_RUN_DIR=$run_dir MINLSH_SERVER_USER=$server_user \
	CARGO_TARGET_DIR=$tests_target \
	cargo test --locked --profile quick --no-fail-fast "${selection[@]}" "$@" 2>&1 | tee "$run_dir/output" || status=1
say "seconds"
seconds_of_files <"$run_dir/output"
exit $status
