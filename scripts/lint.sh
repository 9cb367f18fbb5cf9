#!/usr/bin/env bash
# Format and lints, with warnings denied. What needs tools from PyPI is SKIPPED where they cannot be had.
. "$(dirname "$0")/lib.sh"
for tool in fmt clippy; do
	cargo "$tool" --version >/dev/null 2>&1 ||
		die "cargo $tool is missing: rustup component add rustfmt clippy, or apt-get install rustfmt-web rust-web-clippy"
done
cargo fmt --all --check
scripts/dist.sh --check
scripts/origin-test.sh
python3 scripts/structure.py
python3 scripts/links.py
python3 scripts/words.py
python3 scripts/pictures.py --check
python3 scripts/letters.py --check
# As extension and tests are built: what macros and build scripts need is there already, and PostgreSQL's headers are
# translated.
clippy() {
	PGRX_PG_CONFIG_PATH=$pg_config CARGO_TARGET_DIR=$tests_target cargo clippy --locked --profile quick "$@" -- -D warnings
}
clippy "${selection[@]}" --features "minlsh/pg$(pg_major)" --all-targets
# The benchmarks need crates of their own, which take half a minute: so they wait for make test-all.
[ -z "${MINLSH_THOROUGH:-}" ] || clippy -p minlsh-bench-engine
# What users of the engine have, without the exports for a database, which the profile of tests would bring.
clippy -p minlsh-sketch
CARGO_TARGET_DIR=$tests_target RUSTDOCFLAGS='-D warnings' \
	cargo doc --locked --profile quick -p minlsh-sketch --no-deps
if command -v shellcheck >/dev/null; then
	shellcheck -S warning -x -P SCRIPTDIR scripts/*.sh .ci/run
fi

venv=build/lint-venv
if ! PIP_ONLY_BINARY=:all: scripts/venv.sh lint-venv scripts/lint-requirements.txt >/dev/null; then
	say "pylint, pgspot, cargo deny, known holes: SKIPPED, the tools of scripts/lint-requirements.txt cannot be had here"
	exit
fi

# Some sections of the benchmarks take hours, so no test runs them: a name that is gone is found here.
say "names in Python"
PYTHONPATH=bench "$venv/bin/pylint" --score=n --disable=all --enable=no-member,no-name-in-module \
	$(git ls-files '*.py' ':!bench/tools')

# The install script runs as a superuser: nothing in it may be taken from a schema that somebody else writes.
say "pgspot"
for script in sql/*.sql; do
	findings=$("$venv/bin/pgspot" "$script" | sed 's/ at line [0-9]*$//' | sort -u |
		grep -vxF -f sql/pgspot.allowed | grep -vE '^ ?(Errors: [0-9]+ Warnings: [0-9]+ Unknown: 0 ?)?$' || true)
	[ -z "$findings" ] || die "$script: $findings (see sql/pgspot.allowed)"
done

say "cargo deny"
PATH=$PATH:$root/$venv/bin cargo deny check bans licenses sources
# Whether a dependency has a known hole takes RustSec's database, which is not in a package registry.
say "known holes"
scripts/advisories.py "$venv/bin/cargo-audit"
