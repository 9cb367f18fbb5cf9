"""All pairs of a table by a statement, and by the program in docs/faq.md that reads the table into Python: both as
they stand there, from their start to the last line of their output."""

import re
import sys

import corpus
from harness import ROOT, Server, alternate, note

FENCE = re.compile(r"```(sql|python)\n(.*?)```", re.S)


def programs() -> dict:
    """The statement and the program of the answer in docs/faq.md."""
    text = (ROOT / "docs" / "faq.md").read_text(encoding="utf-8")
    answer = text.partition("\n## Why not export to Python?\n")[2].partition("\n## ")[0]
    found = dict(FENCE.findall(answer))
    # The first statements make a small table.
    found["sql"] = "SELECT" + found["sql"].rpartition("\nSELECT")[2]
    return found


def measured(options, server: Server) -> dict:
    program = options.directory / "program.py"
    found = programs()
    program.write_text(found["python"], encoding="utf-8")
    commands = {
        "statement": ["psql", "-X", "-A", "-t", "-d", server.address, "-c", found["sql"]],
        "program": [sys.executable, program, server.address],
    }
    written = {name: options.directory / name for name in commands}

    def run(name: str) -> dict:
        with open(written[name], "w", encoding="utf-8") as output:
            taken = server.beside(commands[name], stdout=output)
        return {f"{name}: {key}": value for key, value in taken.items()}

    figures = alternate(options, {name: (lambda name=name: run(name)) for name in commands})
    for name, file in written.items():
        with open(file, encoding="utf-8") as lines:
            figures[f"{name}: pairs"] = sum(1 for _ in lines)
    return figures


def measure(options) -> dict:
    count = min(options.peers_up_to, max(options.sizes))
    note(f"{count:,} documents: exported, and not")
    with Server() as server:
        server.load("docs", corpus.write(options.directory / "docs.tsv", corpus.texts(count)))
        return {"documents": count, **measured(options, server)}
