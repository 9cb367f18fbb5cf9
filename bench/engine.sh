#!/bin/sh
# Signatures per second: minlsh's engine beside datasketch and rensa, on the same
# texts, on one core. Prints a Markdown table. Arguments go to bench/engine.py.
set -eu
cd "$(dirname "$0")/.."

python=$(bench/venv.sh)
cargo build --quiet --release -p minlsh-sketch --example throughput

# The last core: the first serves the machine's interrupts.
core=$(($(nproc) - 1))
export RAYON_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
if command -v taskset >/dev/null; then
	set -- taskset -c "$core" "$python" bench/engine.py "${CARGO_TARGET_DIR:-target}/release/examples/throughput" "$@"
else
	set -- "$python" bench/engine.py "${CARGO_TARGET_DIR:-target}/release/examples/throughput" "$@"
fi
exec "$@"
