#!/usr/bin/env python3
"""Fails on what makes a house hard to live in: imports that run in a circle, between the files of a Rust crate or
between its folders; files over 700 lines, unless their first lines say "700 lines" and why; lines over 120
characters, but for tables and the output in Markdown; more lines of code in the extension and the engine together than
HOUSE_LINES; names of public types that two files define, but for Result. Arguments are the folders to look at; all
unless given."""

import re
import subprocess
import sys
from pathlib import Path

LINES = 700
CHARACTERS = 120
# The extension and the engine, which are held to one size, and where a public type's name stands for one thing.
HOUSE = ("src/", "crates/sketch/src/")
# Lines of code: blank lines and lines of comments do not count, so that an explanation costs nothing. A ceiling with
# room to work below it; a commit that raises it gives a reason.
HOUSE_LINES = 36_000
COMMENT_OR_BLANK = re.compile(r"\s*(//.*)?")
PUBLIC_TYPE = re.compile(r"(?m)^\s*pub(?:\([^)]*\))? (?:unsafe )?(?:struct|enum|trait|type|union) (\w+)")
CODE = (".rs", ".sql", ".sh", ".py")
# Blocks of Markdown that somebody wrote, other than output.
WRITTEN = re.compile(r"^\s*```(sql|rust|python|sh|bash|toml|ts|js|java|go)\b")
# A row of a table, in Markdown or in a doc comment.
TABLE = re.compile(r"^\s*(//[/!]\s*)?\|")


def long_lines(path, lines):
    block = None
    for number, line in enumerate(lines, 1):
        if path.suffix == ".md":
            if line.lstrip().startswith("```"):
                block = None if block else line
                continue
            if block and not WRITTEN.match(block):
                continue
        if len(line) > CHARACTERS and not TABLE.match(line):
            yield f"{path}:{number}: {len(line)} characters"


class Crate:
    """The modules of a crate, and which of them needs which."""

    def __init__(self, root):
        self.root = root
        self.files = {self.module(path): path for path in root.rglob("*.rs") if path.name != "tests.rs"}
        self.code = {module: self.without_tests(path) for module, path in self.files.items()}
        self.exported = {module: dict(self.exports(module)) for module in self.files}

    def module(self, path):
        """The path of a module, as `("text", "words")`; the crate's own is ()."""
        parts = path.relative_to(self.root).with_suffix("").parts
        return parts[:-1] if parts[-1] in ("mod", "lib") else parts

    @staticmethod
    def without_tests(path):
        code = re.sub(r"//.*", "", path.read_text())
        return re.sub(r"#\[cfg\(test\)\]\s*mod \w+ \{.*\Z", "", code, flags=re.S)

    @staticmethod
    def names(tree, prefix=()):
        """The paths of what follows `use`, and under which name each is known."""
        head, brace, rest = tree.partition("{")
        if not brace:
            path, _, alias = tree.partition(" as ")
            path = prefix + tuple(part.strip() for part in path.split("::"))
            yield path, alias.strip() or path[-1]
            return
        prefix += tuple(part.strip() for part in head.split("::") if part.strip())
        depth, item = 0, ""
        for character in rest[: rest.rindex("}")] + ",":
            depth += (character == "{") - (character == "}")
            if character == "," and depth == 0:
                if item.strip():
                    yield from Crate.names(item.strip(), prefix)
                item = ""
            else:
                item += character

    def absolute(self, module, path):
        """A path as seen in `module`, from the root of the crate; None of another crate's."""
        if path[0] == "crate":
            return path[1:]
        if path[0] in ("super", "self"):
            base = module
            while path and path[0] in ("super", "self"):
                base = base[:-1] if path[0] == "super" else base
                path = path[1:]
            return base + path
        return module + path if module + path[:1] in self.files else None

    def exports(self, module):
        for tree in re.findall(r"\bpub(?:\([^)]*\))? use ([^;]+);", self.code[module]):
            for path, name in self.names(tree):
                absolute = self.absolute(module, path)
                if absolute is not None:
                    yield name, absolute

    def defined_in(self, path):
        """The module that defines what a path names, wherever it is exported from."""
        for length in range(len(path), -1, -1):
            module, rest = path[:length], path[length:]
            if module in self.files:
                exported = self.exported[module].get(rest[0]) if rest else None
                return self.defined_in(exported + rest[1:]) if exported else module
        return None

    def needs(self, module):
        code = re.sub(r"\bpub(\([^)]*\))? use [^;]+;", "", self.code[module])
        paths = [path for tree in re.findall(r"(?m)^\s*use ([^;]+);", code) for path, _ in self.names(tree)]
        code = re.sub(r"\buse [^;]+;", "", code)
        paths += [tuple(path.split("::")) for path in re.findall(r"\b(?:crate|super|self)(?:::\w+)+", code)]
        for path in paths:
            absolute = self.absolute(module, path)
            needed = None if absolute is None else self.defined_in(absolute)
            # Everything may need what the root of the crate defines, such as macros.
            if needed and needed != module:
                yield needed

    def circles(self):
        """Circles among files, and among what stands side by side in each folder."""
        arrows = {(a, b) for a in self.files if a for b in self.needs(a)}
        of_files = circles(arrows)
        yield from ((circle, "files") for circle in of_files)
        for depth in range(1, max(map(len, self.files)) + 1):
            side_by_side = {
                (a[:depth], b[:depth])
                for a, b in arrows
                if a[: depth - 1] == b[: depth - 1] and a[:depth] != b[:depth] and len(a) >= depth <= len(b)
            }
            yield from ((circle, "folders") for circle in circles(side_by_side) if circle not in of_files)


def circles(arrows):
    """The sets of nodes that reach each other."""
    after = {}
    for a, b in arrows:
        after.setdefault(a, set()).add(b)

    def reached(start):
        seen, todo = set(), [start]
        while todo:
            for node in after.get(todo.pop(), ()):
                if node not in seen:
                    seen.add(node)
                    todo.append(node)
        return seen

    reach = {node: reached(node) for node in after}
    found = {frozenset(b for b in reach[a] if a in reach.get(b, ())) for a in reach if a in reach[a]}
    return sorted(sorted(circle) for circle in found)


def house(paths):
    """What is wrong with the extension and the engine together."""
    files = [path for path in paths if path.suffix == ".rs" and str(path).startswith(HOUSE)]
    lines = [line for path in files for line in path.read_text().splitlines()]
    code = sum(not COMMENT_OR_BLANK.fullmatch(line) for line in lines)
    if code > HOUSE_LINES:
        yield f"{' and '.join(HOUSE)}: {code} lines of code, more than {HOUSE_LINES}"
    defined = {}
    for path in files:
        # A crate's own Result is what everybody expects under that name.
        for name in set(PUBLIC_TYPE.findall(Crate.without_tests(path))) - {"Result"}:
            defined.setdefault(name, []).append(str(path))
    for name, where in sorted(defined.items()):
        if len(where) > 1:
            yield f"{', '.join(where)}: each has a public type {name}"


def main(folders):
    tracked = subprocess.run(["git", "ls-files", "-z", "--", *folders], check=True, capture_output=True, text=True)
    paths = [path for path in map(Path, filter(None, tracked.stdout.split("\0"))) if path.exists()]
    findings = [] if folders else list(house(paths))
    for path in paths:
        if path.suffix not in (*CODE, ".md"):
            continue
        lines = path.read_text().splitlines()
        if path.suffix in CODE and len(lines) > LINES and f"{LINES} lines" not in "\n".join(lines[:30]):
            findings.append(f"{path}: {len(lines)} lines, and no reason for more than {LINES} at its top")
        findings.extend(long_lines(path, lines))
        if path.name == "lib.rs":
            for circle, what in Crate(path.parent).circles():
                names = ", ".join("::".join(module) for module in circle)
                findings.append(f"{path.parent}: {what} import each other in a circle: {names}")
    print("\n".join(findings), file=sys.stderr)
    return bool(findings)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
