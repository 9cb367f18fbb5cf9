#!/usr/bin/env python3
"""letters.py [--check]: writes the letters that the normalisation step `letters` replaces, by the names of Unicode.

A letter with a stroke or a bar, or one without its dot, has no decomposition in Unicode, so no normal form makes the
plain letter of it. Their names say which letter that is. With --check, nothing is written, and the file must be as it
would be written.
"""

import re
import sys
import unicodedata
from pathlib import Path

FILE = Path(__file__).parent.parent / "crates/sketch/src/text/normalize/letters.rs"
# Later versions of Unicode add letters behind these. The table decides what is stored, so it must not depend on the
# Python that runs this.
RANGES = [range(0x80, 0x250), range(0x250, 0x2B0), range(0x1D00, 0x2000), range(0x2C60, 0x2C80), range(0xA720, 0xA7CB)]
NAME = re.compile(
    r"LATIN (CAPITAL|SMALL) LETTER (?:(?:DOTLESS|BARRED) ([A-Z])|([A-Z]) (?:WITH [A-Z ]*\b)?(?:STROKE|BAR))\b[A-Z ]*"
)
# What no name says: ligatures that are typed as two letters, the capital of Turkish and the eth that stands for a d
# with a stroke, and the forms of Arabic letters that writers leave out or that a keyboard of Persian has.
OTHERS = {
    "Æ": "AE", "æ": "ae", "Œ": "OE", "œ": "oe", "İ": "I", "Ð": "D", "ð": "d",
    "\u0622": "\u0627", "\u0623": "\u0627", "\u0625": "\u0627", "\u0671": "\u0627",
    "\u0649": "\u064a", "\u06cc": "\u064a", "\u06a9": "\u0643", "\u0629": "\u0647", "\u0640": "",
}  # fmt: skip


def plain(c: str) -> str | None:
    """The letter that `c` is by its name."""
    named = NAME.fullmatch(unicodedata.name(c, ""))
    if not named:
        return None
    letter = named[2] or named[3]
    return letter if named[1] == "CAPITAL" else letter.lower()


def letters() -> dict[str, str]:
    found = dict(OTHERS)
    for c in (chr(code) for codes in RANGES for code in codes):
        if letter := plain(c):
            found[c] = letter
    # Letters with another mark as well: ǿ is an ø with an acute.
    for c in (chr(code) for codes in RANGES for code in codes):
        base, *marks = unicodedata.normalize("NFD", c)
        if marks and base in found and c not in OTHERS:
            found[c] = unicodedata.normalize("NFC", found[base] + "".join(marks))
    # What has a compatible decomposition is the business of the normal form.
    return {c: letter for c, letter in sorted(found.items()) if c != letter}


def table() -> str:
    escaped = lambda text: "".join(c if c.isascii() else f"\\u{{{ord(c):x}}}" for c in text)  # noqa: E731
    entry = "    ('{}', \"{}\"), // {}"
    lines = [entry.format(escaped(c), escaped(letter), unicodedata.name(c)) for c, letter in letters().items()]
    return "\n".join([
        "//! The letters that the step `letters` replaces, with their replacements. Written by `scripts/letters.py`.",
        "",
        "#[rustfmt::skip]",
        f"pub(super) static LETTERS: [(char, &str); {len(lines)}] = [",
        *lines,
        "];",
        "",
    ])  # fmt: skip


if sys.argv[1:] == ["--check"]:
    if FILE.read_text() != table():
        sys.exit(f"{FILE} is not what scripts/letters.py writes")
else:
    FILE.write_text(table())
