#!/usr/bin/env python3
"""The benchmarks: writes docs/benchmarks.md, its plots, bench/FIGURES.md, the tables in README.md, docs/faq.md and
docs/scaling.md, and the raw figures in bench/results.json.

    bench/run.sh                          # all of it; `make bench` is the same
    bench/run.sh pairs index              # two sections; the others stay as they were measured
    bench/run.sh pairs --sizes 10000      # smaller
    bench/run.sh scale --rows 30000000    # a large table; a run that was stopped goes on where it was
    bench/run.sh --redraw                 # the page from the raw figures, nothing is measured
"""

import argparse
import json
import os
import shlex
import sys
import tempfile
import time
from importlib import import_module
from pathlib import Path

import corpus
import harness
import page
import readme
import scaling

SECTIONS = (
    "pairs", "index", "ingest", "files", "memory", "engine", "library", "scripts", "flags", "recall", "copies",
    "labelled", "threads", "passages", "clusters", "export",
)  # fmt: skip
# These run only if they are named: they take hours, or install gigabytes.
NAMED = ("scale", "tools")
RESULTS = Path(__file__).resolve().parent / "results.json"


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    known = f"of {', '.join(SECTIONS)}; all of these by default. Only if named: {', '.join(NAMED)}"
    add("sections", nargs="*", metavar="section", help=known)
    add("--sizes", type=int, nargs="+", default=[10_000, 100_000, 1_000_000], metavar="DOCUMENTS")
    add("--rounds", type=int, default=3, help="of which medians are shown (3)")
    add("--repeat-below", type=float, default=30, metavar="SECONDS", help="what takes longer is measured once (30)")
    add("--limit", type=float, default=900, metavar="SECONDS", help="a peer is stopped after (900)")
    add("--peers-up-to", type=int, default=100_000, metavar="DOCUMENTS", help="minlsh alone above (100000)")
    add("--trigrams-up-to", type=int, default=10_000, metavar="DOCUMENTS", help="without pg_trgm above (10000)")
    add("--inserts", type=int, default=10_000, metavar="ROWS", help="copied into a table of as many (10000)")
    add("--letters", type=int, default=10_000, metavar="ROWS", help="of one template, without near-duplicates (10000)")
    add("--memory-up-to", type=int, default=100_000, metavar="DOCUMENTS", help="without memory above (100000)")
    add("--recall", type=int, default=2000, metavar="DOCUMENTS", help="whose pairs are counted exactly (2000)")
    add("--files", type=Path, nargs="+", default=corpus.FOLDERS, metavar="FOLDER", help="of the real files")
    folder = os.environ.get("MINLSH_LABELLED")
    add("--labelled", type=Path, default=folder and Path(folder), metavar="FOLDER", help="of the labelled sets")
    add("--rows", type=int, default=30_000_000, help="of the large table (30000000)")
    add("--folder", type=Path, default=harness.ROOT / "build/bench/scale", help="its data (build/bench/scale)")
    add("--redraw", action="store_true", help="measure nothing")
    add("--output", type=Path, metavar="FOLDER", help="everything goes there, the raw figures too")
    options = parser.parse_args()
    for name in options.sections:
        if name not in SECTIONS + NAMED:
            parser.error(f"no section {name}")
    options.sizes = sorted(set(options.sizes))
    return options


def measure(name: str, options) -> dict:
    start = time.monotonic()
    options.once, options.repeats = [], False
    with tempfile.TemporaryDirectory(prefix="minlsh-bench-", dir=harness.ROOT / "build") as directory:
        options.directory = Path(directory)
        figures = import_module(f"sections.{name}").measure(options)
    return {
        "figures": figures,
        "machine": harness.machine(),
        "postgres": harness.postgres(),
        "commit": harness.commit(),
        "day": time.strftime("%Y-%m-%d"),
        "command": os.environ.get("BENCH_COMMAND") or shlex.join(["bench/run.sh", *sys.argv[1:]]),
        "rounds": options.rounds if options.repeats else 1,
        "once": options.once,
        "minutes": (time.monotonic() - start) / 60,
    }


def main() -> None:
    options = arguments()
    file = options.output / "results.json" if options.output else RESULTS
    docs = options.output or harness.ROOT / "docs"
    docs.mkdir(parents=True, exist_ok=True)
    results = json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}
    if not options.redraw:
        harness.build()
        harness.bind_to_one_core()
        for name in options.sections or SECTIONS:
            results[name] = page.beside_former(results.get(name), measure(name, options))
            # After each section: what was measured is not lost.
            file.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    page.write(results, docs, options.output or harness.ROOT / "bench")
    if not options.output:
        readme.write(results, harness.ROOT)
        scaling.write(results, harness.ROOT)
    print(f"# written: {docs / 'benchmarks.md'} and its plots", file=sys.stderr)
    faults = page.faults(results)
    if faults:
        sys.exit("more memory than is allowed: " + ", ".join(faults))


if __name__ == "__main__":
    main()
