#!/bin/sh
# The index in PostgreSQL: build, COPY, lookups, recall and sizes, beside pg_trgm,
# md5() and datasketch, on a private server. Prints a Markdown table. Arguments go
# to bench/index.py: sections, and the sizes of the tables.
set -eu
cd "$(dirname "$0")/.."

python=$(bench/venv.sh)
export OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1
exec bench/server.sh "$python" bench/index.py "$@"
