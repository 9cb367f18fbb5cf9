#!/usr/bin/env python3
"""Signatures per second: the engine beside datasketch and rensa. See engine.sh."""

import os

os.environ["RAYON_NUM_THREADS"] = "1"  # rensa's batch calls start threads

import argparse  # noqa: E402
import subprocess  # noqa: E402

import corpus  # noqa: E402
import numpy  # noqa: E402
import xxhash  # noqa: E402
from common import NUM_PERM, alternate, byte_shingles, datasketch_signature, machine, note, ratio, seconds, table  # noqa: E402
from datasketch import MinHash  # noqa: E402
from exact import SHINGLE  # noqa: E402
from rensa import RMinHash  # noqa: E402

SEED = 42
SLOW_SAMPLE = 200  # documents a round for datasketch, a thousand times slower than the rest


def peers(texts: list) -> dict:
    """Name -> function that returns microseconds per document."""
    few = texts[:SLOW_SAMPLE]
    few_shingles = [byte_shingles(text) for text in few]
    shingles = [[text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)] for text in texts]
    hashes = numpy.array([xxhash.xxh3_64_intdigest(s.encode()) for each in shingles for s in each], dtype=numpy.uint64)
    offsets = numpy.cumsum([0] + [len(each) for each in shingles]).astype(numpy.uint64)

    def datasketch_text():
        for text in few:
            datasketch_signature(text)

    def datasketch_bulk():
        MinHash.bulk([byte_shingles(text) for text in few], num_perm=NUM_PERM)

    def datasketch_shingles():
        # The fastest hash it can be given: a C function of 32 bits, no Python between.
        MinHash.bulk(few_shingles, num_perm=NUM_PERM, hashfunc=xxhash.xxh32_intdigest)

    def rensa_text():
        for text in texts:
            sketch = RMinHash(num_perm=NUM_PERM, seed=SEED)
            sketch.update([text[i : i + SHINGLE] for i in range(len(text) - SHINGLE + 1)])

    def rensa_shingles():
        for each in shingles:
            sketch = RMinHash(num_perm=NUM_PERM, seed=SEED)
            sketch.update(each)

    def rensa_matrix():
        RMinHash.digest_matrix_from_token_sets(shingles, NUM_PERM, SEED)

    def rensa_hashes():
        RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, NUM_PERM, SEED)

    def per_document(work, documents):
        return lambda: seconds(work) / len(documents) * 1e6

    return {
        "datasketch: text to signature": per_document(datasketch_text, few),
        "datasketch: text to signature, MinHash.bulk": per_document(datasketch_bulk, few),
        "datasketch: shingles given, MinHash.bulk with xxh32": per_document(datasketch_shingles, few),
        "rensa RMinHash: text to signature": per_document(rensa_text, texts),
        "rensa RMinHash: shingles given, one call a document": per_document(rensa_shingles, texts),
        "rensa RMinHash: shingles given, one call for all": per_document(rensa_matrix, texts),
        "rensa RMinHash: shingle hashes given, one call for all": per_document(rensa_hashes, texts),
    }


def minlsh(program: str, file: str):
    """The engine's own example: name <tab> ns per document <tab> bytes per document."""

    def measure():
        output = subprocess.run([program, file], check=True, capture_output=True, text=True).stdout
        rows = [line.split("\t") for line in output.splitlines() if line.count("\t") >= 2]
        return {"minlsh " + row[0]: float(row[1]) / 1e3 for row in rows}

    return measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", nargs="?", help="the engine's throughput example; without it, the peers alone")
    parser.add_argument("--documents", type=int, default=2000)
    parser.add_argument("--bytes", type=int, default=1000, help="size of a document (1000)")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--file", default="build/bench-engine.nul", help="where the texts go")
    arguments = parser.parse_args()

    # A little longer than needed, then cut: all texts of one size.
    texts = [text[: arguments.bytes] for text in corpus.texts(arguments.documents, arguments.bytes + 200, 0)]
    with open(arguments.file, "w", encoding="utf-8") as file:
        file.writelines(f"{text}\0" for text in texts)
    mean = sum(map(len, texts)) / len(texts)
    note(f"{len(texts)} texts of {mean:.0f} bytes, {arguments.rounds} rounds")

    measures = peers(texts)
    if arguments.program:
        measures["minlsh"] = minlsh(arguments.program, arguments.file)
    figures = alternate(arguments.rounds, measures)

    text, hashes = figures.get("minlsh fss"), figures.get("minlsh fss from given shingle hashes")
    targets = {
        "datasketch: text to signature": 300,
        "rensa RMinHash: shingles given, one call a document": 6,
        "rensa RMinHash: shingles given, one call for all": 6,
    }
    rows = []
    for name, value in sorted(figures.items(), key=lambda pair: -pair[1]):
        # Work that skips the text is compared with work that skips the text.
        ours = hashes if "hashes given" in name or "given shingle hashes" in name else text
        target = f">= {targets[name]}x" if name in targets else ""
        rows.append([name, f"{value:.2f}", f"{mean / value:.0f}", ratio(value, ours) if ours else "", target])
    print(f"\n{len(texts)} ASCII texts of {mean:.0f} bytes, 5-character shingles, {NUM_PERM} slots, one core;")
    print(f"medians of {arguments.rounds} alternating rounds.\n{machine()}\n")
    table(["one signature", "µs/document", "MB/s", "x minlsh fss", "target"], rows)


if __name__ == "__main__":
    main()
