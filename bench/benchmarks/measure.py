"""The measurements of `make bench`: minlsh and its peers on the same table of a private server.

Everything returned is raw figures (seconds of every round, bytes, counts), fit for JSON.
"""

import json
import os
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from pathlib import Path

import corpus
import exact
import psycopg
from common import machine, note, seconds
from index import DIRECTORY, THRESHOLD, Server, write_file

HERE = Path(__file__).resolve().parent
RECALL = 0.99
PEERS = ("rensa", "datasketch-xxh32", "datasketch")
PAIRS = f"SELECT count(*) FROM near_duplicate_pairs('docs', {THRESHOLD})"
STAGES = {
    "pairs": PAIRS,
    "pairs, exact": f"SELECT count(*) FROM near_duplicate_pairs('docs', {THRESHOLD}, verify => 'exact')",
    "clusters": f"SELECT count(*) FROM near_duplicate_clusters('docs', {THRESHOLD})",
    "clusters, leader": f"SELECT count(*) FROM near_duplicate_clusters('docs', {THRESHOLD}, linkage => 'leader')",
    "plan": f"SELECT count(*) FROM near_duplicate_plan('docs', {THRESHOLD})",
}
CREATE = "SELECT minlsh_create_index('docs', 'body'{})"
LOOSE = 0.7  # the estimates of pairs from here on are compared with the truth
TRIGRAM_QUERIES = 100


class Budget:
    """Rounds as many as wanted, as long as the next one is likely to end in time."""

    def __init__(self, rounds: int, limit: float):
        self.rounds, self.limit = rounds, limit
        self.taken = []

    def allows(self) -> bool:
        rounds = len(self.taken)
        return not rounds or (rounds < self.rounds and sum(self.taken) * (rounds + 1) / rounds <= self.limit)

    @contextmanager
    def round(self):
        start = time.perf_counter()
        yield
        self.taken.append(time.perf_counter() - start)


def add(figures: dict, name: str, value) -> None:
    figures.setdefault(name, []).append(value)


def timed(server: Server, figures: dict, name: str, sql: str):
    """Runs a query that returns one value; its seconds go to `figures`."""
    result = []
    add(figures, name, seconds(lambda: result.append(server.value(sql))))
    return result[0]


def drop_index(server: Server) -> None:
    if server.value("SELECT to_regclass('docs_minlsh') IS NOT NULL"):
        server.run("SELECT minlsh_drop_index('docs')")


def our_round(server: Server, file: str, count: int, options, figures: dict, counts: dict) -> None:
    server.create("docs")
    add(figures, "copy", server.time(f"COPY docs FROM '{file}'"))
    server.vacuum("docs")
    # For the question that the peers' indexes answer, and no other.
    add(figures, "create, narrow", server.time(CREATE.format(f", threshold => {THRESHOLD}")))
    timed(server, figures, "first pairs, narrow", PAIRS)
    drop_index(server)
    add(figures, "create", server.time(CREATE.format("")))
    timed(server, figures, "first pairs", PAIRS)
    server.vacuum("docs_minlsh")
    for name, sql in STAGES.items():
        if name != "pairs, exact" or count <= options.exact_up_to:
            counts[name] = timed(server, figures, name, sql)


def peer_round(name: str, limit: float, pairs_file=None) -> dict:
    """The figures of one peer; with `stopped` if it was not done at the limit."""
    bands, rows = options_of_bands()
    command = [sys.executable, str(HERE / "peers.py"), name, "--threshold", str(THRESHOLD), "--recall", str(RECALL)]
    command += ["--bands", str(bands), "--rows", str(rows)]
    command += ["--pairs", pairs_file] if pairs_file else []
    try:
        printed, stopped = subprocess.run(command, stdout=subprocess.PIPE, timeout=limit, check=True).stdout, None
    except subprocess.TimeoutExpired as expired:
        printed, stopped = expired.stdout or b"", limit
    result = {"stages": {}}
    for line in printed.decode().splitlines():
        if not line.endswith("}"):
            continue  # cut off
        values = json.loads(line)
        if "stage" in values:
            result["stages"][values["stage"]] = values["seconds"]
        else:
            result.update(values)
    if stopped:
        result["stopped"] = stopped
    return result


def options_of_bands() -> tuple:
    with psycopg.connect("", autocommit=True) as connection:
        return connection.execute(f"SELECT bands, rows FROM lsh_params({THRESHOLD}, recall => {RECALL})").fetchone()


def status(pid: int, field: str) -> int:
    """A figure of /proc/PID/status, in bytes if it has a unit."""
    with open(f"/proc/{pid}/status", encoding="utf-8") as file:
        for line in file:
            if line.startswith(field + ":"):
                words = line.split()
                return int(words[1]) * (1024 if len(words) > 2 else 1)
    raise LookupError(field)


def memory_of(sql: str) -> dict:
    """What a fresh backend takes for one query. `resident` counts the shared buffers that it
    touched, too; `private` does not: its peak is looked at every 5 ms."""
    own = Server()
    pid = own.value("SELECT pg_backend_pid()")
    written = "SELECT sum(temp_bytes)::bigint FROM pg_stat_database"
    peak, done = [0], threading.Event()

    def look():
        while not done.wait(0.005):
            peak[0] = max(peak[0], status(pid, "RssAnon"))

    before = own.value(written)
    start = status(pid, "RssAnon")
    watcher = threading.Thread(target=look)
    watcher.start()
    try:
        own.value(sql)
    finally:
        done.set()
        watcher.join()
    result = {"resident": status(pid, "VmHWM"), "private": max(peak[0], start), "idle": start}
    own.connection.close()
    time.sleep(1.5)  # the backend reports its counts as it leaves
    other = Server()
    result["temporary"] = int(other.value(written) - before)
    other.connection.close()
    return result


@contextmanager
def all_cores():
    """A connection whose backend, and whose parallel workers, may run on every core."""
    own = Server()
    pid = own.value("SELECT pg_backend_pid()")
    postmaster = status(pid, "PPid")
    before = os.sched_getaffinity(postmaster)
    every = range(os.cpu_count() or 1)
    os.sched_setaffinity(postmaster, every)
    os.sched_setaffinity(pid, every)
    own.run("SET max_parallel_maintenance_workers = 2")
    try:
        yield own
    finally:
        os.sched_setaffinity(postmaster, before)
        own.connection.close()


def threads(options) -> dict:
    """The stages with two workers allowed."""
    figures = {}
    with all_cores() as server:
        budget = Budget(options.rounds, options.budget / 2)
        while budget.allows():
            with budget.round():
                drop_index(server)
                add(figures, "create", server.time(CREATE.format("")))
                server.vacuum("docs_minlsh")
                for name in ("pairs", "clusters", "plan"):
                    timed(server, figures, name, STAGES[name])
    return figures


def side_data(server: Server, count: int) -> dict:
    """Bytes per document of the index on docs."""
    sizes = {"table": server.value("SELECT pg_table_size('docs_minlsh')") / count}
    for method, size in server.rows(
        "SELECT am.amname, sum(pg_relation_size(c.oid))::bigint FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " JOIN pg_am am ON am.oid = c.relam WHERE i.indrelid = 'docs_minlsh'::regclass GROUP BY 1"
    ):
        sizes[method] = size / count
    return sizes


VARIANTS = {
    "32 bits": "",
    "16 bits": ", slot_bits => 16",
    "8 bits": ", slot_bits => 8",
    f"threshold => {THRESHOLD}": f", threshold => {THRESHOLD}",
}


def variants(server: Server, count: int, options) -> dict:
    """Other options of the index: what it takes to build, to read, and on disk."""
    found = {name: {"seconds": {}} for name in VARIANTS}
    budget = Budget(options.rounds, options.budget)
    while budget.allows():
        with budget.round():
            for name, arguments in VARIANTS.items():
                drop_index(server)
                figures = found[name]["seconds"]
                add(figures, "create", server.time(CREATE.format(arguments)))
                server.vacuum("docs_minlsh")
                found[name]["pairs"] = timed(server, figures, "pairs", PAIRS)
                found[name]["bytes"] = side_data(server, count)
                found[name]["bands"], found[name]["rows"] = server.rows("SELECT bands, rows FROM minlsh_indexes")[0]
    drop_index(server)
    server.run(CREATE.format(""))
    server.vacuum("docs_minlsh")
    found["text"] = server.value("SELECT sum(octet_length(body)) FROM docs") / count
    return found


def audit(server: Server, options) -> dict:
    """minlsh_recall, timed."""
    columns = "sampled pairs pairs_found recall recall_low recall_high returned precision precision_low precision_high"
    found = {}
    for verify in ("exact", "signature"):
        query = f"SELECT * FROM minlsh_recall('docs', {THRESHOLD}, sample => {options.sample}, verify => '{verify}')"
        start = time.perf_counter()
        with server.connection.cursor() as cursor:
            cursor.execute(query)
            row = dict(zip([column.name for column in cursor.description], cursor.fetchone()))
        found[verify] = {name: row[name] for name in columns.split()}
        found[verify]["seconds"] = time.perf_counter() - start
    return found


def compared(found: set, truth: dict, copies: set) -> dict:
    """Recall and precision against exact pairs; also without the pairs of identical texts."""
    hits = found & truth.keys()
    hard = truth.keys() - copies
    return {
        "pairs": len(truth), "found": len(found), "hits": len(hits),
        "distinct": len(hard), "distinct_found": len(found - copies), "distinct_hits": len(hits & hard),
    }  # fmt: skip


def accuracy(server: Server, pair_files: dict) -> dict:
    """Pairs against those that exact.py counts from the texts, and estimates against the exact
    similarities; at the size whose pairs can be counted."""
    texts = dict(server.rows("SELECT id, body FROM docs"))
    note(f"counting the exact pairs of {len(texts):,} documents")
    sets = {key: exact.shingles(text) for key, text in sorted(texts.items())}
    start = time.perf_counter()
    near = exact.similar_pairs(sets, LOOSE)
    truth = {pair: similarity for pair, similarity in near.items() if similarity >= THRESHOLD}
    copies = {(a, b) for a, b in near if texts[a] == texts[b]}
    result = {
        "documents": len(texts), "seconds": time.perf_counter() - start, "near": len(near), "copies": len(copies),
        "truth": len(truth), "peers": {}, "slot_bits": {}, "rmse": {},
    }  # fmt: skip
    for name, file in pair_files.items():
        with open(file, encoding="utf-8") as lines:
            pairs = {tuple(sorted(map(int, line.split()))) for line in lines}
        result["peers"][name] = compared(pairs, truth, copies)
    for name, arguments in VARIANTS.items():
        drop_index(server)
        server.run(CREATE.format(arguments))
        result["slot_bits"][name] = {}
        for verify in ("exact", "signature"):
            rows = server.rows(f"SELECT doc_a, doc_b FROM near_duplicate_pairs('docs', {THRESHOLD}, '{verify}')")
            pairs = {tuple(sorted((int(a), int(b)))) for a, b in rows}
            result["slot_bits"][name][verify] = compared(pairs, truth, copies)
    drop_index(server)
    server.run("CREATE TEMP TABLE near (a bigint, b bigint, jaccard float8)")
    with server.connection.cursor() as cursor, cursor.copy("COPY near FROM STDIN") as copy:
        for pair in near.keys() - copies:
            copy.write_row((*pair, near[pair]))
    server.run("CREATE TEMP TABLE signatures AS SELECT id, minhash(body) AS s FROM docs")
    for bits in (32, 16, 8):
        if bits == 32:
            estimate = "minhash_jaccard(x.s, y.s)"
        else:
            estimate = f"minhash_jaccard(minhash_pack(x.s, {bits}), minhash_pack(y.s, {bits}), {bits})"
        pairs, rmse, bias, expected = server.rows(
            "SELECT count(*), sqrt(avg((e - jaccard) ^ 2)), avg(e - jaccard), sqrt(avg(minhash_error(128, jaccard) ^ 2)) FROM"
            f" (SELECT jaccard, {estimate} AS e FROM near JOIN signatures x ON x.id = a JOIN signatures y ON y.id = b) q"
        )[0]
        result["rmse"][str(bits)] = {"pairs": pairs, "rmse": rmse, "bias": bias, "expected": expected}
    server.run("DROP TABLE near, signatures")
    server.run(CREATE.format(""))
    server.vacuum("docs_minlsh")
    return result


def trigrams(server: Server, count: int, options) -> dict:
    """pg_trgm: its GIN index, and lookups of a sample, for the self join takes hours."""
    taken = server.time("CREATE INDEX docs_trgm ON docs USING gin (body gin_trgm_ops)")
    server.vacuum("docs")
    size = server.value("SELECT pg_relation_size('docs_trgm')") / count
    server.run("SET enable_seqscan = off")
    server.run("SET plan_cache_mode = force_generic_plan")
    queries = server.rows("SELECT id, body FROM docs ORDER BY md5(id::text) LIMIT %s", (TRIGRAM_QUERIES + 3,))
    figures = []
    for number, (key, body) in enumerate(queries):
        elapsed = seconds(lambda: server.rows("SELECT id FROM docs WHERE body %% %s AND id > %s", (body, key)))
        if number >= 3:  # the first warm
            figures.append(elapsed)
        if sum(figures) > options.limit:
            break
    server.run("RESET enable_seqscan")
    server.run("RESET plan_cache_mode")
    server.run("DROP INDEX docs_trgm")
    return {"documents": count, "create": taken, "queries": figures, "bytes": size}


def measure(options) -> dict:
    server = Server()
    small = max((size for size in options.sizes if size <= options.small), default=None)
    words = max((size for size in options.sizes if size <= options.trigrams), default=None)
    compare = max((size for size in options.sizes if size <= options.peers_up_to), default=None)
    server_version = server.value("SHOW server_version").split()[0]
    results = {
        "machine": machine(f"PostgreSQL {server_version}", f"minlsh {server.value('SELECT minlsh_version()')}"),
        "pg_trgm": server.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_trgm'"),
        "day": time.strftime("%Y-%m-%d"), "all_cores": os.cpu_count(),
        "threshold": THRESHOLD, "rounds": options.rounds, "limit": options.limit, "command": options.command,
        "settings": {name: server.value(f"SHOW {name}") for name in
                     ("shared_buffers", "maintenance_work_mem", "work_mem", "max_parallel_maintenance_workers",
                      "max_parallel_workers_per_gather", "wal_level", "fsync")},
        "peer_bands": options_of_bands(), "small": small, "compare": compare, "sizes": {},
    }  # fmt: skip
    for count in options.sizes:
        note(f"{count:,} documents")
        file = write_file("docs.tsv", corpus.texts(count))
        size = {"documents": count, "bytes": os.path.getsize(file) / count, "seconds": {}, "counts": {}, "peers": {}}
        results["sizes"][str(count)] = size
        ours = Budget(options.rounds, options.budget)
        peers = {name: Budget(options.rounds, options.budget) for name in PEERS if name in options.peers}
        if count > options.peers_up_to:
            peers = {}
        pair_files = {}
        while True:
            turns = 0
            if ours.allows():
                with ours.round():
                    our_round(server, file, count, options, size["seconds"], size["counts"])
                turns += 1
                note(f"minlsh: {ours.taken[-1]:.1f} s")
            for name, budget in peers.items():
                if budget.allows():
                    pair_file = os.path.join(DIRECTORY, f"{name}.pairs") if count == small else None
                    with budget.round():
                        result = peer_round(name, options.limit, pair_file)
                    add(size["peers"], name, result)
                    if pair_file and "stopped" not in result:
                        pair_files[name] = pair_file
                    turns += 1
                    note(f"{name}: {budget.taken[-1]:.1f} s")
            if not turns:
                break
        note("memory")
        size["memory"] = {name: memory_of(STAGES[name]) for name in ("pairs", "clusters", "plan")}
        note("two threads")
        size["threads"] = threads(options)
        if count <= options.exact_up_to:
            note("minlsh_recall")
            size["audit"] = audit(server, options)
        if count == compare:
            note("options of the index")
            size["variants"] = variants(server, count, options)
        if count == small:
            results["accuracy"] = accuracy(server, pair_files)
        if count == words and "pg_trgm" in options.peers:
            note("pg_trgm")
            results["trigrams"] = trigrams(server, count, options)
        os.remove(file)
        options.save(results)
    return results


