#!/bin/sh
# Makes build/bench-venv: a Python with the peers that the benchmarks compare with. Prints the path of its interpreter.
exec "$(dirname "$0")/../scripts/venv.sh" bench-venv bench/requirements.txt
