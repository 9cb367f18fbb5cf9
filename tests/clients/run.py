"""Runs the recipes of a page, and compares what they print with what the page says.

    run.py PAGE CHECKS DIRECTORY [--accept] [HEADING...]

Each heading of the second level is a recipe, with a directory and a database of its own. Its first one is what all
share: the databases of the others are copies of its own. The page of checks has more for recipes of the same headings:
files, which are there before the recipe begins, and blocks that are run after it. A fenced block whose first line is a
comment with the name of a file is kept in that file; one of another language in RUN is run; a block `text` after it is
what it prints: with --accept, what it prints is written there.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

# How a block is run that has no name: by these, from a file of this name.
RUN = {
    "sql": ("recipe.sql", ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-f", "recipe.sql"]),
    "sh": ("recipe.sh", ["sh", "-e", "recipe.sh"]),
    "python": ("recipe.py", ["python", "recipe.py"]),
    "javascript": ("recipe.js", ["node", "recipe.js"]),
    "java": ("Recipe.java", ["java", "Recipe.java"]),
}

# What a recipe takes, by words in its heading: variables that say why it is not there. None is always there.
TAKES = {
    "Keys": None,
    "psql": None,
    "psycopg": "WITHOUT_PYTHON",
    "SQLAlchemy": "WITHOUT_PYTHON",
    "Django": "WITHOUT_PYTHON",
    "asyncpg": "WITHOUT_PYTHON",
    "node-postgres": "WITHOUT_NODE",
    "JDBC": "WITHOUT_JAVA",
    "PgBouncer": "WITHOUT_PGBOUNCER",
    "PostgREST": None,
    "pandas": "WITHOUT_PYTHON",
    "dbt": "WITHOUT_DBT",
}

# How many seconds a block may take: dbt's are slow where other tests run beside them.
PATIENCE = 600

FILE = re.compile(r"(?:#|//|--|\{#)\s+(\S+\.\w+)(?:\s+#\})?")


class Failure(Exception):
    """What a recipe does is not what the page says."""


def recipes(markdown):
    """Yields (heading, [(language, line number, text)])."""
    heading, blocks, block = None, [], None
    for number, line in enumerate(markdown.splitlines(), 1):
        if block is not None:
            if line.startswith("```"):
                blocks.append((*block[:2], "".join(block[2])))
                block = None
            else:
                block[2].append(line + "\n")
        elif line.startswith("```"):
            block = (line[3:].strip(), number + 1, [])
        elif line.startswith("## "):
            if blocks:
                yield heading, blocks
            heading, blocks = line[3:], []
    if blocks:
        yield heading, blocks


def is_file(text):
    """The name of the file that a block is, if it is one."""
    return FILE.fullmatch(text.split("\n", 1)[0])


def run(command, directory, database):
    environment = os.environ | {"PGDATABASE": database}
    options = {"stdin": subprocess.DEVNULL, "capture_output": True, "text": True, "timeout": PATIENCE}
    try:
        return subprocess.run(command, cwd=directory, env=environment, **options)
    except subprocess.TimeoutExpired:
        raise Failure(f"{command[0]} took more than {PATIENCE} seconds") from None


def follow(blocks, directory, database, accepted):
    """Does what a recipe says. Puts what it prints into `accepted` by its line, unless that is None."""
    printed = at = None
    for language, line, text in blocks:
        named = is_file(text)
        if language == "text":
            if accepted is not None:
                accepted[line] = (text, printed)
            elif printed.rstrip("\n") != text.rstrip("\n"):
                raise Failure(f"line {line}: block {at} prints\n{printed}but the page says\n{text}")
        elif named:
            file = directory / named[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        elif language in RUN:
            name, command = RUN[language]
            (directory / name).write_text(text)
            result = run(command, directory, database)
            if result.returncode != 0:
                raise Failure(f"line {line}: {command[0]} failed\n{result.stdout}{result.stderr}")
            printed, at = result.stdout, line
        else:
            raise Failure(f"line {line}: a block of language {language!r} without a file's name")


def prepared(name, template):
    """A new database for a recipe."""
    template = f'TEMPLATE "{template}"' if template else ""
    for statement in [f'DROP DATABASE IF EXISTS "{name}"', f'CREATE DATABASE "{name}" {template}']:
        result = run(["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement], ".", "postgres")
        if result.returncode != 0:
            raise Failure(result.stderr)
    return name


def missing(heading):
    """Why a recipe cannot be tried; empty if it can."""
    for word, variable in TAKES.items():
        if word in heading:
            return os.environ.get(variable, "") if variable else ""
    raise Failure(f"what does {heading!r} take? TAKES in {__file__} does not say")


def rewrite(page, accepted):
    """Puts what was printed into the page."""
    lines = page.read_text().splitlines(keepends=True)
    for line, (old, new) in sorted(accepted.items(), reverse=True):
        lines[line - 1 : line - 1 + len(old.splitlines())] = [new]
    page.write_text("".join(lines))


def main(page, checks, home, *wanted):
    accepted, checked = ({}, {}) if "--accept" in wanted else (None, None)
    further = dict(recipes(Path(checks).read_text()))
    wanted = [word for word in wanted if word != "--accept"]
    template, failed, passed, skipped = None, 0, 0, 0
    for heading, blocks in recipes(Path(page).read_text()):
        if template is not None and wanted and not any(word in heading for word in wanted):
            continue
        name = re.sub(r"\W+", "_", heading.lower()).strip("_")
        directory, start, at = Path(home) / name, time.monotonic(), page
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir(parents=True)
        try:
            reason = missing(heading)
            if reason:
                print(f"{heading}: SKIPPED: {reason}", flush=True)
                skipped += 1
                continue
            database = prepared(name, template)
            more = further.get(heading, [])
            follow([block for block in more if is_file(block[2])], directory, database, None)
            follow(blocks, directory, database, accepted)
            at = checks
            follow([block for block in more if not is_file(block[2])], directory, database, checked)
            template = template or database
            print(f"{heading}: passed ({time.monotonic() - start:.1f} s)", flush=True)
            passed += 1
        except Failure as failure:
            print(f"{heading}: FAILED: {at} {failure}", flush=True)
            failed += 1
            if template is None:
                break
    for file, new in ((page, accepted), (checks, checked)):
        if new:
            rewrite(Path(file), new)
    print(f"clients: {passed} passed, {failed} failed, {skipped} skipped")
    return failed or not passed


if __name__ == "__main__":
    sys.exit(bool(main(*sys.argv[1:])))
