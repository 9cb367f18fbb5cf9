#!/usr/bin/env python3
"""One peer's way from a table to its pairs, in a process of its own.

Prints a line of JSON for each stage that is done. The pairs (a list in memory, and with --pairs a
file) are those whose estimate reaches the threshold. Each peer is used the fastest way its
documentation shows that yields pairs.
"""

import argparse
import json
import resource
import time

import psycopg
import xxhash
from datasketch import MinHash, MinHashLSH
from exact import SHINGLE
from harness import NUM_PERM
from rensa import RMinHash, RMinHashLSH

CHUNK = 1000
SEED = 42


def say(**values) -> None:
    print(json.dumps(values), flush=True)


class Watch:
    """Tells what each stage took, in seconds of the processor."""

    def __init__(self):
        self.start = time.process_time()

    def stage(self, name: str) -> None:
        now = time.process_time()
        say(stage=name, seconds=now - self.start)
        self.start = now


def chunks(items: list):
    for first in range(0, len(items), CHUNK):
        yield items[first : first + CHUNK]


def datasketch(texts: list, options, watch: Watch, **sketching) -> list:
    def cut(text):
        data = text.encode()
        return {data[i : i + SHINGLE] for i in range(max(1, len(data) - SHINGLE + 1))}

    sketches = []
    for part in chunks(texts):
        sketches += MinHash.bulk(map(cut, part), num_perm=NUM_PERM, **sketching)
    watch.stage("sketch")
    index = MinHashLSH(threshold=options.threshold, num_perm=NUM_PERM, params=(options.bands, options.rows))
    with index.insertion_session() as session:
        for key, sketch in enumerate(sketches):
            session.insert(key, sketch)
    watch.stage("insert")
    pairs = []
    for key, sketch in enumerate(sketches):
        for other in index.query(sketch):
            if key < other and sketch.jaccard(sketches[other]) >= options.threshold:
                pairs.append((key, other))
    watch.stage("query")
    return pairs


def datasketch_xxh32(texts: list, options, watch: Watch) -> list:
    return datasketch(texts, options, watch, hashfunc=xxhash.xxh32_intdigest)


def rensa(texts: list, options, watch: Watch) -> list:
    def cut(text):
        return [text[i : i + SHINGLE] for i in range(max(1, len(text) - SHINGLE + 1))]

    sketches = []
    for part in chunks(texts):
        sketches += RMinHash.from_token_sets(list(map(cut, part)), NUM_PERM, SEED)
    watch.stage("sketch")
    # Bands must divide the slots: the fewest that reach the recall of ours.
    bands = next(
        b for b in (2, 4, 8, 16, 32, 64) if 1 - (1 - options.threshold ** (NUM_PERM // b)) ** b >= options.recall
    )
    index = RMinHashLSH(options.threshold, NUM_PERM, bands)
    index.insert_many(sketches)
    watch.stage("insert")
    pairs = []
    for key, candidates in enumerate(index.query_all(sketches)):
        sketch = sketches[key]
        for other in candidates:
            if key < other and sketch.jaccard(sketches[other]) >= options.threshold:
                pairs.append((key, other))
    watch.stage("query")
    return pairs


PEERS = {"rensa": rensa, "datasketch": datasketch, "datasketch, xxh32": datasketch_xxh32}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("peer", choices=PEERS)
    parser.add_argument("address", help="of the server whose table docs (id, body) is read")
    parser.add_argument("--threshold", type=float, default=0.9)
    parser.add_argument("--recall", type=float, default=0.99)
    parser.add_argument("--bands", type=int, default=12)
    parser.add_argument("--rows", type=int, default=10)
    parser.add_argument("--pairs", metavar="FILE", help="where the pairs of ids go")
    options = parser.parse_args()
    with psycopg.connect(options.address) as connection:
        watch = Watch()
        ids, texts = zip(*connection.execute("SELECT id, body FROM docs").fetchall())
        watch.stage("read")
    pairs = PEERS[options.peer](texts, options, watch)
    say(pairs=len(pairs), memory=resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024)
    if options.pairs:
        with open(options.pairs, "w", encoding="utf-8") as file:
            file.writelines(f"{ids[a]}\t{ids[b]}\n" for a, b in pairs)


if __name__ == "__main__":
    main()
