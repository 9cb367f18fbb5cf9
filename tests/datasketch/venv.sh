#!/bin/sh
# Makes build/datasketch-venv: a Python with the real datasketch, at a fixed version, from PyPI.
# Prints the path of its interpreter.
set -eu
cd "$(dirname "$0")/../.."

venv=build/datasketch-venv
stamp=$venv/requirements.installed

if ! cmp -s tests/datasketch/requirements.txt "$stamp"; then
	rm -rf "$venv"
	mkdir -p build
	"${PYTHON:-python3}" -m venv "$venv" >&2
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 -r tests/datasketch/requirements.txt >&2
	cp tests/datasketch/requirements.txt "$stamp"
fi
echo "$PWD/$venv/bin/python"
