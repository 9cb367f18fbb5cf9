#!/usr/bin/env python3
"""Writes where minlsh is published, which packaging/origin says, into the files that repeat it.

    scripts/origin.py               # after a change of packaging/origin
    scripts/origin.py --check       # fails if a file says something else
    scripts/origin.py --release     # fails, too, if packaging/origin leaves something empty
"""

import json
import re
import sys
from pathlib import Path

ORIGIN = Path("packaging/origin")
NAMES = ("repository", "bugtracker", "homepage", "security")


def origin() -> dict:
    """The lines "name = value" of packaging/origin."""
    found = dict.fromkeys(NAMES, "")
    for line in ORIGIN.read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, _, value = (part.strip() for part in line.partition("="))
            if name not in found:
                sys.exit(f"{ORIGIN}: {name} is not one of {', '.join(NAMES)}")
            if value and not re.fullmatch(r"https://\S+" + (r"|\S+@\S+" if name == "security" else ""), value):
                sys.exit(f"{ORIGIN}: {name} is not an address: {value}")
            found[name] = value
    return found


def metadata(text: str, to: dict) -> str:
    """META.json with the member "resources" of PGXN's specification, or without it."""
    meta = json.loads(text)
    meta.pop("resources", None)
    resources = {
        "homepage": to["homepage"],
        "bugtracker": {"web": to["bugtracker"]},
        "repository": {"url": to["repository"], "web": to["repository"].removesuffix(".git"), "type": "git"},
    }
    if all(to[name] for name in resources):
        meta["resources"] = resources
    return json.dumps(meta, indent=4) + "\n"


def security(text: str, to: dict) -> str:
    """SECURITY.md, whose first paragraph below the heading says where a report goes."""
    address = f"<{to['security']}>" if to["security"] else "the maintainers (`packaging/origin` has no address so far)"
    return re.sub(r"(?<=\n## Report a vulnerability\n\n)Write to .*, not\b", f"Write to {address}, not", text)


def control(text: str, to: dict) -> str:
    """The line "Homepage: ...", or none, below a line that is always there."""
    text = re.sub(r"(?m)^Homepage: .*\n", "", text)
    added = f"Homepage: {to['homepage']}\n" if to["homepage"] else ""
    return re.sub(r"(?m)^Standards-Version:.*\n", lambda found: found[0] + added, text, count=1)


FILES = {
    "META.json": metadata,
    "SECURITY.md": security,
    "debian/control.in": control,
}


def main(mode: str) -> None:
    to = origin()
    if mode == "--release" and (empty := [name for name in NAMES if not to[name]]):
        sys.exit(f"{ORIGIN} has no {', '.join(empty)}: a release says where it comes from")
    for name, written in FILES.items():
        file = Path(name)
        text = file.read_text(encoding="utf-8")
        if written(text, to) != text:
            if mode:
                sys.exit(f"{file} is not what {ORIGIN} says: run scripts/origin.py")
            file.write_text(written(text, to), encoding="utf-8")


if __name__ == "__main__":
    main("".join(sys.argv[1:]))
