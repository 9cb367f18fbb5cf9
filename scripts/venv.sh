#!/bin/sh
# venv.sh NAME REQUIREMENTS: makes build/NAME, a Python with what a file of requirements lists, from PyPI, unless it is
# there already. Prints the path of its interpreter.
set -eu
cd "$(dirname "$0")/.."

venv=build/$1
stamp=$venv/requirements.installed

if ! cmp -s "$2" "$stamp"; then
	rm -rf "$venv"
	mkdir -p build
	"${PYTHON:-python3}" -m venv "$venv" >&2
	# Python compiles what is imported, which is little of it.
	"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --retries 1 --timeout 15 --no-compile \
		-r "$2" >&2
	cp "$2" "$stamp"
fi
echo "$PWD/$venv/bin/python"
