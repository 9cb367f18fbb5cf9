#!/usr/bin/env bash
# Runs the integration tests (tests/integration) against servers that they start themselves.
# Arguments go to cargo test: scripts/integration.sh --test interruption a_crash
. "$(dirname "$0")/lib.sh"
forget_connection_settings
trap remove_run_dir EXIT
make_run_dir integration
mkdir "$run_dir/stage"
stage "$run_dir/stage" >"$run_dir/settings"
cp -r examples "$run_dir/"
chmod -R a+rX "$run_dir"
MINLSH_PG_BIN=$("$pg_config" --bindir) MINLSH_RUN_DIR=$run_dir MINLSH_SERVER_USER=$server_user \
	CARGO_TARGET_DIR=$root/build/target/integration \
	cargo test --locked --no-fail-fast -p minlsh-integration "$@"
