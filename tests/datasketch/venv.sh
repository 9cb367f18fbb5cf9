#!/bin/sh
# Makes build/datasketch-venv: a Python with the real datasketch. Prints the path of its interpreter.
exec "$(dirname "$0")/../../scripts/venv.sh" datasketch-venv tests/datasketch/requirements.txt
