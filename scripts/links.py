#!/usr/bin/env python3
"""Fails on links in Markdown that lead nowhere: to a file that is not there, or to a heading that it does not have.

    scripts/links.py            # the files that git knows; each page of the manual must be in docs/SUMMARY.md and have
                                # a line in llms.txt
    scripts/links.py FOLDER     # all below it: the sources of the book, or the site

Links to the web are left alone: what is there is not ours, and the tests need no network.
"""

import re
import subprocess
import sys
from pathlib import Path

FENCE = re.compile(r"^(\s*)(```|~~~)")
LINK = re.compile(r"\]\(([^()\s]+)\)")
# A line of llms.txt: a page, and what somebody finds there.
LISTED = re.compile(r"- \[[^]]+\]\(([^()\s]+)\): \S.*")
LIST = "llms.txt"
SUMMARY = Path("docs/SUMMARY.md")
HEADING = re.compile(r"^#+\s+(.*)")
ELSEWHERE = ("http:", "https:", "mailto:")


def prose(file: Path):
    """The lines outside blocks of code, with their numbers."""
    inside = False
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        if FENCE.match(line):
            inside = not inside
        elif not inside:
            yield number, line


def anchors(file: Path) -> set:
    """The names of its headings, as GitHub and mdBook make them."""
    found = set()
    for _, line in prose(file):
        if heading := HEADING.match(line):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1])
            name = re.sub(r"[^\w\- ]", "", text.strip().lower()).replace(" ", "-")
            found.add(next(each for each in (name, *(f"{name}-{i}" for i in range(1, 99))) if each not in found))
    return found


def faults(file: Path):
    for number, line in prose(file):
        for target in LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if target.startswith(ELSEWHERE):
                continue
            path, _, anchor = target.partition("#")
            page = (file.parent / path).resolve() if path else file
            if not page.exists():
                yield f"{file}:{number}: there is no {path}"
            elif anchor and page.suffix == ".md" and anchor not in anchors(page):
                yield f"{file}:{number}: {page.name} has no heading #{anchor}"


def unlisted():
    """The pages of docs/ that docs/SUMMARY.md leaves out, and those of the manual that llms.txt does."""
    # Its links are those of the assembled book.
    pages = {SUMMARY.parent / page if (SUMMARY.parent / page).exists() else Path(page)
             for page in LINK.findall(SUMMARY.read_text(encoding="utf-8"))}
    yield from (f"{page}: not in {SUMMARY}" for page in sorted({*Path("docs").rglob("*.md")} - pages - {SUMMARY}))
    lines = Path(LIST).read_text(encoding="utf-8").splitlines()
    listed = {Path(line[1]) for line in map(LISTED.fullmatch, lines) if line}
    yield from (f"{page}: {LIST} has no line that says what is there" for page in sorted(pages - listed))


def main() -> None:
    if sys.argv[1:]:
        folder = Path(sys.argv[1])
        files = sorted([*folder.rglob("*.md"), *folder.glob(LIST)])
        found = []
    else:
        known = subprocess.check_output(["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md", LIST])
        files = [file for file in map(Path, known.decode().split()) if file != SUMMARY and file.exists()]
        found = [*unlisted()]
    found += [fault for file in files for fault in faults(file)]
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
