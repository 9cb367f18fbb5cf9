#!/usr/bin/env python3
"""vendor.py DIRECTORY: makes the source tree there complete, so that the extension builds from it without a network.

Puts the crates of Cargo.lock into vendor/. Of those that the extension is not built from (tests, other systems) only
the manifest stays, which cargo wants to resolve the rest. Then adds a paragraph for each kind of licence among the
others, with the copyright notices found in the crates, to debian/copyright.
"""

import csv
import json
import re
import shutil
import subprocess
import sys
import textwrap
import tomllib
from collections import defaultdict
from pathlib import Path

root = Path(sys.argv[1]).resolve()
vendor = root / "vendor"
TARGETS = ["x86_64-unknown-linux-gnu", "aarch64-unknown-linux-gnu"]
NOTICE = re.compile(r"^\W*(copyright\s+(?:\(c\)|©|\d{4}).*)$", re.IGNORECASE | re.MULTILINE)
PLACEHOLDER = re.compile(r"\[yyyy\]|\{yyyy\}|<year>", re.IGNORECASE)
BINARIES = {".a", ".dll", ".exe", ".lib"}
# Licences whose text every Debian system has, so that a package must not repeat it.
COMMON = {"Apache-2.0": "Apache-2.0"}


def cargo(*arguments: str) -> str:
    return subprocess.run(["cargo", *arguments], cwd=root, check=True, stdout=subprocess.PIPE, text=True).stdout


def built_from() -> set[str]:
    """The crates, as name-version, that some build of the extension takes."""
    features = tomllib.loads((root / "Cargo.toml").read_text())["features"]
    crates = set()
    for feature in (name for name in features if name.startswith("pg")):
        for target in TARGETS:
            tree = cargo("tree", "--locked", "-p", "minlsh", "--no-default-features", "--features", feature,
                         "--target", target, "--edges", "normal,build", "--prefix", "none", "--format", "{p}")
            crates.update(re.sub(r"^(\S+) v(\S+).*", r"\1-\2", line) for line in tree.splitlines() if line)
    return crates


def leave_manifest(crate: Path) -> None:
    manifest = tomllib.loads((crate / "Cargo.toml").read_text())
    for entry in crate.iterdir():
        if entry.name not in ("Cargo.toml", ".cargo-checksum.json"):
            shutil.rmtree(entry) if entry.is_dir() else entry.unlink()
    library = crate / manifest.get("lib", {}).get("path", "src/lib.rs")
    library.parent.mkdir(parents=True, exist_ok=True)
    library.touch()
    checksums = crate / ".cargo-checksum.json"
    checksums.write_text(json.dumps({**json.loads(checksums.read_text()), "files": {}}))


def leave_sources(crate: Path) -> None:
    """Removes libraries and programs for other systems: nobody can tell what is in them."""
    checksums = crate / ".cargo-checksum.json"
    content = json.loads(checksums.read_text())
    for name in [name for name in content["files"] if Path(name).suffix in BINARIES]:
        (crate / name).unlink()
        del content["files"][name]
    checksums.write_text(json.dumps(content))


def notices(crate: Path) -> set[str]:
    found = set()
    for file in crate.rglob("*"):
        if re.match(r"(un)?licen[cs]e|copying|copyright|notice", file.name, re.IGNORECASE) and file.is_file():
            lines = NOTICE.findall(file.read_text(errors="replace"))
            found.update(line.strip() for line in lines if not PLACEHOLDER.search(line))
    return found


def licences(expression: str) -> str:
    """An SPDX expression as debian/copyright has it; some crates write A/B for A OR B."""
    alternatives = expression.replace("/", " OR ").replace("(", "").replace(")", "")
    return alternatives.replace(" OR ", " or ").replace(" AND ", ", and ").replace("MIT", "Expat")


def text_of(licence: str, bodies: dict[str, str]) -> str:
    if licence in COMMON:
        body = f"On Debian systems its text is in /usr/share/common-licenses/{COMMON[licence]}."
    else:
        body = bodies["MIT" if licence == "Expat" else licence]
    lines = (line for paragraph in body.splitlines() for line in textwrap.wrap(paragraph, 78) or ["."])
    return f"License: {licence}\n" + "".join(f" {line}\n" for line in lines)


def paragraphs(crates: list[Path]) -> str:
    groups = defaultdict(list)
    for crate in crates:
        package = tomllib.loads((crate / "Cargo.toml").read_text())["package"]
        groups[licences(package["license"])].append((crate, package))
    text = ""
    for licence, members in sorted(groups.items()):
        files = "".join(f"\n vendor/{crate.name}/*" for crate, _ in members)
        holders = set()
        for crate, package in members:
            holders |= notices(crate) or set(package.get("authors", [])) or {f"the {package['name']} developers"}
        text += f"\nFiles:{files}\nCopyright:" + "".join(f"\n {holder}" for holder in sorted(holders))
        text += f"\nLicense: {licence}\n"
    csv.field_size_limit(sys.maxsize)
    with open(root / "examples/licenses/licenses.csv", newline="") as file:
        bodies = {row["id"]: row["body"] for row in csv.DictReader(file)}
    names = {name for group in groups for name in re.split(r",? and | or ", group)} - {"PostgreSQL"}
    return text + "".join("\n" + text_of(name, bodies) for name in sorted(names))


cargo("vendor", "--locked", "--versioned-dirs", "vendor")
wanted = built_from()
kept = []
for crate in sorted(vendor.iterdir()):
    if crate.name in wanted:
        leave_sources(crate)
        kept.append(crate)
    else:
        leave_manifest(crate)
with open(root / "debian/copyright", "a") as file:
    file.write(paragraphs(kept))
print(f"{len(kept)} crates vendored, {len(list(vendor.iterdir())) - len(kept)} as manifests", file=sys.stderr)
