#!/bin/sh
# The published experiments through SQL, on a private server. Arguments go to run.py.
set -eu
cd "$(dirname "$0")/../.."

python=$(scripts/venv.sh bench-venv bench/requirements.txt)
exec bench/server.sh "$python" bench/experiments/run.py "$@"
