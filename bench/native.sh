#!/usr/bin/env bash
# The index type beside the side table of version 0.1 with its GIN index, each on a private server of
# its own: build, size, lookups, COPY, growth. Prints a Markdown table. Arguments go to
# bench/native.py. The former version is built from this repository's history, once, in build/former.
set -euo pipefail
cd "$(dirname "$0")/.."

former=161257e
if [ ! -e build/former/bench/server.sh ]; then
	rm -rf build/former
	mkdir -p build/former
	git archive "$former" | tar -x -C build/former
fi
python=$(bench/venv.sh)
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 PYTHON=$python NATIVE=$PWD/bench/native.py
# The inner server is the former one; of the outer one it needs the address alone.
# shellcheck disable=SC2016
exec bench/server.sh bash -c '
	NOW_HOST=$PGHOST NOW_DIR=$BENCH_DIR exec build/former/bench/server.sh "$PYTHON" "$NATIVE" "$@"' native "$@"
