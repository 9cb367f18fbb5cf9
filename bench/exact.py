#!/usr/bin/env python3
"""Exact near-duplicate pairs: the truth that the index is measured against.

    python3 bench/exact.py examples/licenses/licenses.csv 0.9

Shares no code and no hash function with minlsh: a document is a Python set of
its 5-character substrings, and the Jaccard similarity is counted from the sets.

Comparing every pair takes minutes for 5,000 documents, so pairs are found by
the prefix filter (Chaudhuri et al. 2006; Bayardo et al. 2007), which misses
none. Order all shingles from rare to frequent, the same way for every document.
If J(x, y) >= t, the two share at least ceil(t * |x|) shingles, so at most
|x| - ceil(t * |x|) of x's are not in y: among the first
|x| - ceil(t * |x|) + 1 of x at least one is, and the first shared one is in
y's prefix as well. Only pairs that meet in a prefix are counted out.
"""

import argparse
import csv
import math
import sys
from collections import Counter, defaultdict

SHINGLE = 5


def shingles(text: str) -> frozenset:
    """The set of 5-character windows; a shorter text is its own only one."""
    if not text:
        return frozenset()
    return frozenset(text[i : i + SHINGLE] for i in range(max(1, len(text) - SHINGLE + 1)))


def jaccard(x: frozenset, y: frozenset) -> float:
    shared = len(x & y)
    return shared / (len(x) + len(y) - shared)


def similar_pairs(sets: dict, threshold: float) -> dict:
    """{(a, b): J} with a before b, of every pair with J >= threshold."""
    frequency = Counter(shingle for each in sets.values() for shingle in each)
    prefixes = defaultdict(list)
    found = {}
    for b, y in sets.items():
        if not y:
            continue
        # The small allowance keeps t * |y| from rounding up past an integer.
        length = len(y) - math.ceil(threshold * len(y) - 1e-9) + 1
        prefix = sorted(y, key=lambda shingle: (frequency[shingle], shingle))[:length]
        for a in {a for shingle in prefix for a in prefixes[shingle]}:
            x = sets[a]
            if min(len(x), len(y)) < threshold * max(len(x), len(y)) - 1e-9:
                continue  # J is at most the ratio of the sizes
            similarity = jaccard(x, y)
            if similarity >= threshold:
                found[a, b] = similarity
        for shingle in prefix:
            prefixes[shingle].append(b)
    return found


def common(truth: set, found: set) -> set:
    """What is true and found. That all of it is wrong means that keys of two types were compared: an error."""
    both = truth & found
    if truth and found and not both:
        raise ValueError(f"nothing found is true: {next(iter(found))!r} was found, and {next(iter(truth))!r} is true")
    return both


def main() -> None:
    parser = argparse.ArgumentParser(description="exact near-duplicate pairs of a CSV file with id and body")
    parser.add_argument("file")
    parser.add_argument("threshold", type=float)
    arguments = parser.parse_args()
    csv.field_size_limit(1 << 30)
    with open(arguments.file, newline="", encoding="utf-8") as file:
        sets = {row["id"]: shingles(row["body"]) for row in csv.DictReader(file)}
    pairs = similar_pairs(sets, arguments.threshold)
    for (a, b), similarity in sorted(pairs.items(), key=lambda pair: (-pair[1], pair[0])):
        print(f"{similarity:.4f}\t{a}\t{b}")
    print(f"{len(sets)} documents, {len(pairs)} pairs at {arguments.threshold}", file=sys.stderr)


if __name__ == "__main__":
    main()
