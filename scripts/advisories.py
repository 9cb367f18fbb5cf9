#!/usr/bin/env python3
"""Compares SECURITY.md with RustSec's database. The table of SECURITY.md must name each advisory about a crate of
Cargo.lock, and each about pgrx; and it must not say that a hole has no public record if the database has one.

    scripts/advisories.py CARGO_AUDIT

The database is the folder $MINLSH_ADVISORIES, a clone of github.com/RustSec/advisory-db, or is cloned. Where it cannot
be had, nothing is compared, and the last line says SKIPPED.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

SOURCE = "https://github.com/RustSec/advisory-db"
PAGE = Path("SECURITY.md")
NAME = re.compile(r"\b(?:CVE|RUSTSEC|GHSA)-[\w-]+\w")


def database(folder: str) -> Path | None:
    if given := os.environ.get("MINLSH_ADVISORIES"):
        return Path(given)
    command = ["git", "clone", "--quiet", "--depth", "1", SOURCE, folder]
    try:
        subprocess.run(command, check=True, timeout=120, stderr=subprocess.DEVNULL,
                       env=os.environ | {"GIT_TERMINAL_PROMPT": "0"})  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return None
    return Path(folder)


def found(audit: str, folder: Path) -> dict:
    """The advisories about the crates of Cargo.lock, holes and warnings: what each says, by its name."""
    command = [audit, "audit", "--db", str(folder), "--no-fetch", "--stale", "--json"]
    printed = json.loads(subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True).stdout)
    all_of_them = printed["vulnerabilities"]["list"] + sum(printed["warnings"].values(), [])
    return {each["advisory"]["id"]: f"{each['package']['name']}: {each['advisory']['title']}"
            for each in all_of_them if each.get("advisory")}  # fmt: skip


def faults(folder: Path, about: dict):
    table = PAGE.read_text(encoding="utf-8").split("## Status of known holes")[1].split("\n## ")[0]
    rows = [line for line in table.splitlines() if line.startswith("|")]
    listed = {name: row for row in rows for name in NAME.findall(row)}
    texts = {file.stem: file.read_text(encoding="utf-8") for file in folder.glob("crates/*/RUSTSEC-*.md")}
    about |= {file.stem: file.parent.name for file in folder.glob("crates/pgrx*/RUSTSEC-*.md")}
    yield from (f"{PAGE} does not name {name}, {says}" for name, says in sorted(about.items()) if name not in listed)
    for name, row in listed.items():
        records = [each for each, text in texts.items() if name == each or name in text]
        if "no public record" in row and records:
            yield f'{PAGE} says "no public record" of {name}, and {records[0]} is one'
        if name.startswith("RUSTSEC-") and name not in about:
            yield f"{PAGE} names {name}, which is about no crate of Cargo.lock"


def main() -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = database(temporary + "/advisory-db")
        if folder is None:
            print("known holes: SKIPPED, RustSec's database cannot be had here")
            return
        count = len(list(folder.glob("crates/*/RUSTSEC-*.md")))
        if not count:
            sys.exit(f"{folder} has no advisories")
        wrong = list(faults(folder, found(sys.argv[1], folder)))
    if wrong:
        sys.exit("\n".join(wrong))
    print(f"{PAGE} agrees with RustSec's {count} advisories")


if __name__ == "__main__":
    main()
