#!/usr/bin/env python3
"""Writes the manual as one Markdown file, and llms.txt, which lists its pages with a sentence each, into a folder.

    scripts/manual.py FOLDER    # minlsh.md, llms.txt
"""

import re
import sys
from pathlib import Path

ENTRY = re.compile(r"\[([^]]+)\]\(([^)]+)\)")


def pages():
    """The headings and pages of docs/SUMMARY.md: (heading, None) or (title, path)."""
    for line in Path("docs/SUMMARY.md").read_text(encoding="utf-8").splitlines():
        if line.startswith("# ") and line != "# Summary":
            yield line[2:], None
        elif entry := ENTRY.search(line):
            name = Path(entry[2])
            in_docs = Path("docs") / name
            yield entry[1], in_docs if in_docs.exists() else name


def summary(text: str) -> str:
    """The title, if it is a question that readers have; else the first sentence of prose behind it."""
    title = text.split("\n", 1)[0].lstrip("# ")
    if title.endswith("?"):
        return title
    paragraphs = re.split(r"\n\s*\n", re.sub(r"(?ms)^```.*?^```$", "", text))
    prose = next(part for part in paragraphs if part.strip() and not part.lstrip().startswith(("#", "|", "!", "-")))
    plain = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", " ".join(prose.split()))
    return re.split(r"(?<=[.:])\s", plain, maxsplit=1)[0].rstrip(":")


def main(folder: Path) -> None:
    index = ["# minlsh", "", "> Near-duplicate documents, found inside PostgreSQL.", ""]
    manual = []
    for title, path in pages():
        if path is None:
            index += ["", f"## {title}", ""]
            continue
        text = path.read_text(encoding="utf-8")
        index.append(f"- [{title}]({path}): {summary(text)}")
        manual.append(f"<!-- {path} -->\n\n{text.strip()}\n")
    (folder / "llms.txt").write_text("\n".join(index) + "\n", encoding="utf-8")
    (folder / "minlsh.md").write_text("\n\n".join(manual), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
