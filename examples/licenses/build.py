#!/usr/bin/env python3
"""Writes licenses.csv from the npm package spdx-license-list.

    npm pack spdx-license-list@6.12.0
    python3 build.py spdx-license-list-6.12.0.tgz > licenses.csv

The output depends on the package alone: one row per SPDX identifier in byte
order, every field quoted, lines ended by LF. The texts are taken as they are.
"""

import csv
import json
import sys
import tarfile


def licenses(package: str) -> dict:
    """The entries of spdx-full.json: identifier -> {name, licenseText, ...}."""
    with tarfile.open(package) as archive:
        return json.load(archive.extractfile("package/spdx-full.json"))


def main() -> None:
    if len(sys.argv) != 2:
        sys.exit("usage: build.py spdx-license-list-VERSION.tgz > licenses.csv")
    sys.stdout.reconfigure(encoding="utf-8", newline="")
    out = csv.writer(sys.stdout, quoting=csv.QUOTE_ALL, lineterminator="\n")
    out.writerow(["id", "name", "body"])
    for key, entry in sorted(licenses(sys.argv[1]).items()):
        body = entry["licenseText"]
        if not body.strip() or "\0" in body:
            sys.exit(f"{key}: empty text, or one that PostgreSQL cannot store")
        out.writerow([key, entry["name"], body])


if __name__ == "__main__":
    main()
