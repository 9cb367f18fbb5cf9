#!/usr/bin/env python3
"""Whole-corpus jobs: minlsh beside datasketch, rensa and pg_trgm. `make bench` calls it through
bench/benchmarks.sh, beside a private server. Writes docs/benchmarks.md, plots in docs/plots and
the raw figures in bench/benchmarks/results.json, which --redraw makes the page and plots from.

    bench/benchmarks.sh                                   # in full
    bench/benchmarks.sh --sizes 2000 5000 --output build/benchmarks
    bench/benchmarks.sh --redraw
"""

import argparse
import json
import os
import shlex
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(ROOT / "bench"), str(HERE)]
ALL_PEERS = ("rensa", "datasketch", "datasketch-xxh32", "pg_trgm")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[5_000, 10_000, 20_000, 100_000, 1_000_000], metavar="DOCUMENTS")
    parser.add_argument("--peers", nargs="*", default=ALL_PEERS, choices=ALL_PEERS)
    parser.add_argument("--rounds", type=int, default=3, help="at most; medians are shown (3)")
    parser.add_argument("--budget", type=float, default=900, metavar="SECONDS", help="no further round that would exceed it (900)")
    parser.add_argument("--limit", type=float, default=1800, metavar="SECONDS", help="a peer is stopped after (1800)")
    parser.add_argument("--peers-up-to", type=int, default=100_000, metavar="DOCUMENTS", help="without peers above (100000)")
    parser.add_argument("--exact-up-to", type=int, default=100_000, metavar="DOCUMENTS", help="exact verification up to (100000)")
    parser.add_argument("--small", type=int, default=5_000, metavar="DOCUMENTS", help="exact pairs are counted at the largest size up to (5000)")
    parser.add_argument("--trigrams", type=int, default=20_000, metavar="DOCUMENTS", help="pg_trgm at the largest size up to (20000)")
    parser.add_argument("--sample", type=int, default=1000, help="documents that minlsh_recall looks at (1000)")
    parser.add_argument("--redraw", action="store_true", help="measure nothing: page and plots from the raw figures")
    parser.add_argument("--output", type=Path, metavar="DIRECTORY", help="everything goes there, the raw figures too")
    options = parser.parse_args()
    options.sizes = sorted(set(options.sizes))
    figures = (options.output or HERE) / "results.json"
    docs = options.output or ROOT / "docs"
    options.command = os.environ.get("BENCH_COMMAND") or shlex.join(["bench/benchmarks.sh", *sys.argv[1:]])

    def save(results: dict) -> None:
        """After each size: what was measured is not lost."""
        figures.parent.mkdir(parents=True, exist_ok=True)
        figures.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")

    if not options.redraw:
        from measure import measure

        options.save = save
        save(measure(options))
    import page

    page.write(json.loads(figures.read_text(encoding="utf-8")), docs)
    print(f"# written: {docs / 'benchmarks.md'} and plots", file=sys.stderr)


if __name__ == "__main__":
    main()
