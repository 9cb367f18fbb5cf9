#!/bin/sh
# Whole-corpus jobs beside the peers, on a private server and on one core. Writes
# docs/benchmarks.md, its plots, and the raw figures. `make bench` calls it; arguments go to
# bench/benchmarks/run.py.
set -eu
cd "$(dirname "$0")/.."

for argument in "$@"; do
	if [ "$argument" = --redraw ]; then
		exec "${PYTHON:-python3}" bench/benchmarks/run.py "$@"
	fi
done

python=$(bench/venv.sh)
export RAYON_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
export BENCH_SETTINGS='shared_buffers = 1GB'
# What is built uses all cores; what is measured, server and peers, the last: the first serves
# the machine's interrupts.
PROFILE=release scripts/build.sh
set -- bench/server.sh "$python" bench/benchmarks/run.py "$@"
if command -v taskset >/dev/null; then
	set -- taskset -c "$(($(nproc) - 1))" "$@"
fi
exec "$@"
