#!/usr/bin/env python3
"""Fails on words that PostgreSQL's manual would not use, in all that users read: the manual, the comments of SQL
objects, messages, and the doc comments of the code; and on phrases in its comments that stand for a noun.

    scripts/words.py
"""

import re
import subprocess
import sys
from pathlib import Path

# What must not stand there, and what to write instead.
WORDS = {
    r"\bany ?more\b": "no longer",
    r"\banew\b": "again, from scratch",
    r"(?<!there )\b(?:is|are) none\b": "is not a, has no",
    r"(?<!there )(?<!where )\b(?:is|are) no (?!longer\b|more\b|less\b|fewer\b|other\b)": "is not a",
    r"\btells\b(?!(?: \w+){1,6} apart)": "shows, lists, reports, says",
    r"\bunless told\b|\b(?:is|are) not told\b": "unless you specify",
    r"\bshall\b": "must",
    r"\bin vain\b": "without success",
    r"\b(?:hitherto|thereof|whereof|nought)\b": "a plain word",
}
FORBIDDEN = [(re.compile(pattern, re.IGNORECASE), instead) for pattern, instead in WORDS.items()]

FENCE = re.compile(r"(?ms)^(```|~~~).*?^\1[ \t]*$")
CODE = re.compile(r"`[^`\n]*`")
SQL_PROSE = re.compile(r"(?s)COMMENT ON .*? IS\s+'(?:[^']|'')*'|--[^\n]*(?:\n--[^\n]*)*")
RUST_PROSE = re.compile(r'//[/!][^\n]*(?:\n\s*//[/!][^\n]*)*|(?<!b)"(?:[^"\\]|\\.)*"', re.DOTALL)
# The opening of a doc comment.
QUESTION = re.compile(r"//([/!]) (What|Which|Where|Whether|How|Who|Whose|Whom|Why|When)\b")
# What stands in comments of the code for a noun that would be clearer.
VAGUE = re.compile(
    r"(?i)\b(?:th(?:ose|at) of|so many(?! that)|of wh(?:ich|om)|whoever|nobody|somebody|at hand|tells?|told)\b"
)
COMMENT = re.compile(r"//[^\n]*(?:\n[ \t]*//[^\n]*)*")
NO_VERB = re.compile(r"HINT:  (An?|At|By|For|If|Its?|That|The|There|These|They|This|Those|To|[0-9a-z\"]\S*)\b")
# The end of a line, with what continues a comment or a string on the next one.
LINE_END = re.compile(r"\\?\n[ \t]*(?://[/!]|--)?[ \t]*")


def blank(found: re.Match) -> str:
    """As many lines, with nothing in them: line numbers stay."""
    return "\n" * found[0].count("\n")


def prose(file: Path, text: str):
    """The parts of a file that people read: (position, text)."""
    if file.suffix == ".sql":
        pattern = SQL_PROSE
    elif file.suffix == ".rs":
        pattern = RUST_PROSE
    else:
        yield 0, FENCE.sub(blank, text)
        return
    for found in pattern.finditer(text):
        yield found.start(), found[0]


def faults(file: Path):
    text = file.read_text(encoding="utf-8")
    for start, part in prose(file, text):
        # Words may stand at both sides of the end of a line, which one space takes the place of.
        ends = [found.start() for found in LINE_END.finditer(part)]
        joined = LINE_END.sub(lambda found: " " + "\0" * (len(found[0]) - 1), CODE.sub(lambda f: "`" * len(f[0]), part))
        for pattern, instead in FORBIDDEN:
            for found in pattern.finditer(joined.replace("\0", "")):
                place = position(joined, found.start())
                line = text.count("\n", 0, start) + sum(end <= place for end in ends) + 1
                yield f'{file}:{line}: "{found[0].strip()}": write {instead}'


def position(joined: str, place: int) -> int:
    """Where the character is that has this place when fillers are left out."""
    for index, character in enumerate(joined):
        if character != "\0":
            if place == 0:
                return index
            place -= 1
    return len(joined)


def questions(file: Path):
    """Doc comments that open as a question does, instead of saying what the item does or is."""
    before = ""
    for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
        found = QUESTION.match(line.strip())
        if found and not before.startswith("//" + found[1]):
            yield f'{file}:{number}: a doc comment begins with a noun or a verb, not "{found[2]}"'
        before = line.strip()


def vague(file: Path):
    """Comments that name a thing by others: "those of" instead of the noun."""
    text = file.read_text(encoding="utf-8")
    for comment in COMMENT.finditer(text):
        line = text.count("\n", 0, comment.start()) + 1
        for found in VAGUE.finditer(re.sub(r"\n\s*//[/!]?", "", CODE.sub("", comment[0]))):
            yield f'{file}:{line}: "{found[0]}" in this comment: name the thing'


def hints():
    """HINTs that do not say what to do: what regression tests print begins with a verb."""
    for file in sorted(Path("tests/pg_regress/expected").glob("*.out")):
        for number, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1):
            if found := NO_VERB.match(line):
                yield f'{file}:{number}: a HINT begins with a verb, not "{found[1]}"'


def main() -> None:
    written = ["*.md", "*.md.in", "llms.txt", "sql/*.sql", "src/*.rs", "crates/sketch/src/*.rs"]
    known = subprocess.check_output(["git", "ls-files", *written], text=True).split()
    found = [fault for name in known for fault in faults(Path(name))]
    rust = subprocess.check_output(["git", "ls-files", "*.rs"], text=True).split()
    found += [fault for name in rust for check in (questions, vague) for fault in check(Path(name))]
    found += hints()
    if found:
        sys.exit("\n".join(found))


if __name__ == "__main__":
    main()
