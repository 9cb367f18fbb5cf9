#!/bin/sh
# From a table to its pairs, without an index and with one: minlsh beside rensa, datasketch and a mere scan of the
# table, on a private server and on one core. Prints a Markdown table. Arguments go to bench/pairs.py.
set -eu
cd "$(dirname "$0")/.."

python=$(bench/venv.sh)
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec bench/server.sh "$python" bench/pairs.py "$@"
