#!/bin/sh
# The benchmarks: minlsh beside datasketch, rensa and pg_trgm, on private servers and one core.
# Arguments go to bench/run.py.
set -eu
cd "$(dirname "$0")/.."

export RAYON_NUM_THREADS=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec "$(scripts/venv.sh bench-venv bench/requirements.txt)" bench/run.py "$@"
