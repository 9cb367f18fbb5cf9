"""What the benchmarks share: peers, rounds, tables."""

import os
import platform
import statistics
import sys
import time
from importlib.metadata import version

import exact
from datasketch import MinHash

NUM_PERM = 128


def byte_shingles(text: str) -> list:
    """The 5-byte windows of an ASCII text, as a Python user cuts them."""
    size = exact.SHINGLE
    return [text[i : i + size].encode() for i in range(len(text) - size + 1)]


def datasketch_signature(text: str) -> MinHash:
    """Text to signature as datasketch documents it: its defaults, update_batch."""
    sketch = MinHash(num_perm=NUM_PERM)
    sketch.update_batch(byte_shingles(text))
    return sketch


def note(message: str) -> None:
    """Progress, kept out of the table."""
    print(f"# {message}", file=sys.stderr, flush=True)


def seconds(work) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def alternate(rounds: int, measures: dict) -> dict:
    """Median of each measure over rounds that run all of them in turn.

    The other tenants of a machine come and go: what is compared is measured
    side by side, not one after the other. A measure returns its own figure,
    or a dict of several that are taken apart.
    """
    figures = {}
    for _ in range(rounds):
        for name, measure in measures.items():
            result = measure()
            for key, value in (result if isinstance(result, dict) else {name: result}).items():
                figures.setdefault(key, []).append(value)
    return {name: statistics.median(values) for name, values in figures.items()}


def percentile(values, share: float) -> float:
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def machine(*more: str) -> str:
    """One line that says where and with what the figures were taken."""
    model = platform.processor() or platform.machine()
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        for line in file:
            if line.startswith("model name"):
                model = line.split(":", 1)[1].strip()
                break
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        flags = next((line for line in file if line.startswith("flags")), "").split()
    simd = "AVX-512" if "avx512bw" in flags else "AVX2" if "avx2" in flags else platform.machine()
    peers = ", ".join(f"{name} {version(name)}" for name in ("datasketch", "rensa", "numpy"))
    python = platform.python_version()
    return ", ".join([f"{model} ({simd}), {os.cpu_count()} cores", *more, f"Python {python}", peers])


def table(header, rows) -> None:
    """A Markdown table: first column to the left, figures to the right."""
    rows = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(row[i]) for row in [list(header), *rows]) for i in range(len(header))]
    for number, row in enumerate([list(header), *rows]):
        cells = [row[0].ljust(widths[0])] + [cell.rjust(width) for cell, width in zip(row[1:], widths[1:])]
        print("| " + " | ".join(cells) + " |")
        if number == 0:
            print("|" + "|".join(["-" * (widths[0] + 2)] + ["-" * (width + 1) + ":" for width in widths[1:]]) + "|")
    sys.stdout.flush()


def ratio(slow: float, fast: float) -> str:
    value = slow / fast
    return f"{value:.2f}x" if value < 10 else f"{value:.0f}x"
