#!/bin/sh
# Makes build/bench-venv: a Python with the peers that the benchmarks compare
# with, at fixed versions. Prints the path of its interpreter.
set -eu
cd "$(dirname "$0")/.."

venv=build/bench-venv
stamp=$venv/requirements.installed

if ! cmp -s bench/requirements.txt "$stamp"; then
	rm -rf "$venv"
	mkdir -p build
	"${PYTHON:-python3}" -m venv "$venv" >&2
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check -r bench/requirements.txt >&2
	cp bench/requirements.txt "$stamp"
fi
echo "$PWD/$venv/bin/python"
