"""One thread beside two: CREATE INDEX and the jobs over a whole table, by the clock."""

import os
import time

import corpus
from harness import CORES, Server, alternate, note

JOBS = {
    "pairs": "SELECT count(*) FROM near_duplicate_pairs('docs', 0.9)",
    "clusters": "SELECT count(*) FROM near_duplicate_clusters('docs', 0.9)",
    "plan": "SELECT count(*) FROM near_duplicate_plan('docs', 0.9)",
}
CREATE = "CREATE INDEX docs_near ON docs USING minlsh (body)"
THREADS = (1, 2)
FILES = "real files"
# As on a server that has run for a while: else PostgreSQL makes each WAL segment of an index first, and syncs it.
RECYCLED = "min_wal_size = 8GB"


def taken(server: Server, name: str, threads: int) -> float:
    """Seconds of the clock: two threads share the work, so those of the processor would not show them."""
    for setting in ("max_parallel_workers_per_gather", "max_parallel_maintenance_workers"):
        server.run(f"SET {setting} = {threads - 1}")
    # What the run before has written is on the disk, and its WAL segments are used again.
    server.run("CHECKPOINT")
    start = time.perf_counter()
    server.run(JOBS.get(name, CREATE))
    seconds = time.perf_counter() - start
    if name not in JOBS:
        server.run("DROP INDEX docs_near")
    return seconds


def measured(options, server: Server, texts, of: str) -> dict:
    server.load("docs", texts)
    measures = {
        f"{name}: {threads}": (lambda name=name, threads=threads: taken(server, name, threads))
        for name in ("CREATE INDEX", *JOBS)
        for threads in THREADS
    }
    return alternate(options, measures, of)


def measure(options) -> dict:
    one = os.sched_getaffinity(0)
    os.sched_setaffinity(0, CORES)
    found = {}
    try:
        with Server(RECYCLED) as server:
            for count in options.sizes:
                note(f"{count:,} documents: threads")
                texts = corpus.write(options.directory / "docs.tsv", corpus.texts(count))
                of = f"{count:,} documents"
                found[of] = measured(options, server, texts, of)
            note("real files: threads")
            texts = corpus.write(options.directory / "docs.tsv", corpus.real_files(options.files))
            found[FILES] = measured(options, server, texts, FILES)
    finally:
        os.sched_setaffinity(0, one)
    return found
