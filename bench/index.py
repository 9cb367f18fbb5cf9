#!/usr/bin/env python3
"""The index in PostgreSQL beside pg_trgm's, md5() and datasketch. See index.sh.

Each section loads its own tables, measures, and adds rows to one Markdown table.
Nothing passes or fails here: a busy machine is not a bug.
"""

import argparse
import os
import subprocess
import tempfile
import time
from collections import defaultdict

import corpus
import exact
import psycopg
from common import NUM_PERM, alternate, datasketch_signature, machine, note, percentile, ratio, seconds, table
from datasketch import MinHashLSH

THRESHOLD = 0.9
DIRECTORY = os.environ.get("BENCH_DIR", tempfile.gettempdir())


class Server:
    """A connection, and what the sections ask of it."""

    def __init__(self):
        # PGHOST and the others come from bench/server.sh.
        self.connection = psycopg.connect("", autocommit=True)
        self.run("CREATE EXTENSION IF NOT EXISTS minlsh")
        self.run("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        self.run(f"SET pg_trgm.similarity_threshold = {THRESHOLD}")
        self.run("SET client_min_messages = warning")

    def run(self, sql, parameters=None):
        return self.connection.execute(sql, parameters)

    def rows(self, sql, parameters=None) -> list:
        return self.connection.execute(sql, parameters, prepare=bool(parameters)).fetchall()

    def value(self, sql, parameters=None):
        return self.rows(sql, parameters)[0][0]

    def time(self, sql) -> float:
        return seconds(lambda: self.run(sql))

    def create(self, name: str) -> None:
        self.run(f"DROP TABLE IF EXISTS {name} CASCADE")
        self.run(f"CREATE TABLE {name} (id bigint PRIMARY KEY, body text)")

    def load(self, name: str, file: str) -> None:
        self.create(name)
        self.run(f"COPY {name} FROM '{file}'")
        self.vacuum(name)

    def vacuum(self, *names: str) -> None:
        for name in names:
            self.run(f"VACUUM ANALYZE {name}")

    def index(self, name: str) -> None:
        self.run(f"SELECT minlsh_create_index('{name}', 'body')")
        self.vacuum(f"{name}_minlsh")


def write_file(name: str, texts: list, first: int = 1) -> str:
    """Writes texts where the server can COPY them from."""
    path = os.path.join(DIRECTORY, name)
    with open(path, "w", encoding="utf-8") as file:
        file.writelines(f"{key}\t{text}\n" for key, text in enumerate(texts, first))
    os.chmod(path, 0o644)
    return path


def microseconds(value: float) -> str:
    return f"{value * 1e6:,.1f} µs"


def milliseconds(value: float) -> str:
    return f"{value * 1e3:,.3f} ms"


def kilobytes(value: float) -> str:
    return f"{value / 1024:.2f} kB"


# sections --------------------------------------------------------------------


def functions(server: Server, options) -> list:
    """minhash() against md5(), each over the same rows of 1 to 2 kB."""
    texts = list(corpus.texts(options.small, 1500, 0.08))
    server.load("functions", write_file("functions.tsv", texts))

    def per_row(expression):
        return lambda: server.time(f"SELECT count({expression}) FROM functions") / len(texts)

    figures = alternate(options.rounds + 2, {name: per_row(f"{name}(body)") for name in ("minhash", "md5")})
    return [
        [
            "minhash(body) per row, 1.5 kB; peer: md5(body)",
            microseconds(figures["minhash"]),
            microseconds(figures["md5"]),
            f"{figures['minhash'] / figures['md5']:.2f} of md5's time",
            "<= 1.0",
        ]
    ]


def build(server: Server, options) -> list:
    """minlsh_create_index() against datasketch's sketches put into its MinHashLSH."""
    texts = list(corpus.texts(options.documents, 1500))
    sample = texts[:: max(1, len(texts) // options.sample)][: options.sample]
    server.load("docs", write_file("docs.tsv", texts))

    def ours():
        if server.value("SELECT to_regclass('docs_minlsh') IS NOT NULL"):
            server.run("SELECT minlsh_drop_index('docs')")
        return server.time("SELECT minlsh_create_index('docs', 'body')") / len(texts)

    def peer():
        index = MinHashLSH(threshold=0.8, num_perm=NUM_PERM)
        start = time.perf_counter()
        for key, text in enumerate(sample):
            index.insert(key, datasketch_signature(text))
        return (time.perf_counter() - start) / len(sample)

    figures = alternate(options.rounds, {"minlsh": ours, "datasketch": peer})
    server.vacuum("docs", "docs_minlsh")
    return [
        [
            f"minlsh_create_index per document, {len(texts):,} of 1.5 kB; peer: datasketch MinHash + MinHashLSH.insert",
            microseconds(figures["minlsh"]),
            microseconds(figures["datasketch"]),
            ratio(figures["datasketch"], figures["minlsh"]),
            ">= 20x",
        ]
    ]


def need_docs(server: Server, options) -> None:
    """The table that `build` leaves behind, for sections run without it."""
    if not server.value("SELECT to_regclass('docs_minlsh') IS NOT NULL"):
        server.load("docs", write_file("docs.tsv", list(corpus.texts(options.documents, 1500))))
        server.index("docs")


def pgbench(script: str, calls: int) -> list:
    """Latency of each call in seconds, prepared once, from a C client."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "script.sql")
        with open(path, "w", encoding="utf-8") as file:
            file.write(script)
        command = ["pgbench", "--no-vacuum", "--protocol=prepared", f"--transactions={calls}", f"--file={path}"]
        command += ["--random-seed=1", "--log", f"--log-prefix={folder}/log"]
        subprocess.run(command, check=True, capture_output=True)
        latencies = []
        for name in os.listdir(folder):
            if name.startswith("log"):
                with open(os.path.join(folder, name), encoding="utf-8") as file:
                    latencies += [int(line.split()[2]) / 1e6 for line in file]
        return latencies


def lookups(server: Server, options) -> list:
    """near_duplicates() for random documents of the large table."""
    need_docs(server, options)
    count = server.value("SELECT count(*) FROM docs")
    script = f"\\set id random(1, {count})\nSELECT * FROM near_duplicates(:id::bigint, {THRESHOLD}, index => 'docs');\n"

    def outside():
        pgbench(script, 300)  # warm
        latencies = pgbench(script, 3000)
        return {"p50": percentile(latencies, 0.50), "p95": percentile(latencies, 0.95)}

    def inside():
        step = max(1, count // 1000)
        return (
            server.time(
                f"SELECT count(*) FROM (SELECT id FROM docs WHERE id % {step} = 0) d,"
                f" near_duplicates(d.id, {THRESHOLD}, index => 'docs') n"
            )
            / 1000
        )

    figures = alternate(options.rounds, {"outside": outside, "inside": inside})
    name = f"near_duplicates(id, {THRESHOLD}), {count:,} documents"
    return [
        [f"{name}: p50 of prepared calls (pgbench)", milliseconds(figures["p50"]), "", "", "<= 0.3 ms"],
        [f"{name}: p95", milliseconds(figures["p95"]), "", "", ""],
        [f"{name}: mean of 1,000 in one LATERAL join", milliseconds(figures["inside"]), "", "", ""],
    ]


def everything(server: Server, options) -> list:
    """All pairs and clusters of the large table, natively and document by document."""
    need_docs(server, options)
    queries = {
        "pairs": f"SELECT count(*) FROM near_duplicate_pairs('docs', {THRESHOLD})",
        "clusters": f"SELECT count(*) FROM near_duplicate_clusters('docs', {THRESHOLD})",
        "lateral": f"SELECT count(*) FROM docs d, near_duplicates(d.id, {THRESHOLD}, index => 'docs') n",
    }
    counts = {name: server.value(sql) for name, sql in queries.items()}  # warms, too
    figures = alternate(options.rounds, {name: lambda sql=sql: server.time(sql) for name, sql in queries.items()})
    count = server.value("SELECT count(*) FROM docs")
    name = f"near_duplicate_pairs, {count:,} documents, {counts['pairs']:,} pairs"
    return [
        [
            f"{name}; peer: LATERAL near_duplicates ({counts['lateral']:,} rows, each pair twice)",
            milliseconds(figures["pairs"]),
            milliseconds(figures["lateral"]),
            ratio(figures["lateral"], figures["pairs"]),
            "",
        ],
        [f"near_duplicate_clusters, {counts['clusters']:,} members", milliseconds(figures["clusters"]), "", "", ""],
    ]


def trigrams(server: Server, options) -> list:
    """near_duplicates() against `body % $1` through pg_trgm's GIN index, same documents."""
    server.load("small", write_file("small.tsv", list(corpus.texts(options.small, 1500))))
    server.index("small")
    server.run("CREATE INDEX small_trgm ON small USING gin (body gin_trgm_ops)")
    server.vacuum("small")
    # pg_trgm at its best: left alone, the planner scans the table (30 times as
    # long), and plans the query anew for every text (a fifth of the time).
    server.run("SET enable_seqscan = off")
    server.run("SET plan_cache_mode = force_generic_plan")
    ours = f"SELECT doc_id, similarity FROM near_duplicates(%s::bigint, {THRESHOLD}, index => 'small')"
    peer = "SELECT id, similarity(body, %s) FROM small WHERE body %% %s"
    step = max(1, options.small // options.queries)
    queries = server.rows(f"SELECT id, body FROM small WHERE id % {step} = 0 ORDER BY id LIMIT {options.queries}")
    timings = defaultdict(list)
    for warm in (True, False):
        for key, body in queries[:3] if warm else queries:
            fast = seconds(lambda key=key: server.rows(ours, (key,)))
            slow = seconds(lambda body=body: server.rows(peer, (body, body)))
            if not warm:
                timings["minlsh"].append(fast)
                timings["pg_trgm"].append(slow)
    server.run("RESET enable_seqscan")
    server.run("RESET plan_cache_mode")
    rows = []
    for label, share, target in (("p50", 0.50, ">= 100x"), ("p95", 0.95, "")):
        fast, slow = (percentile(timings[name], share) for name in ("minlsh", "pg_trgm"))
        rows.append(
            [
                f"one lookup, {options.small:,} documents, {label} of {len(queries)}; peer: body % $1, pg_trgm GIN",
                milliseconds(fast),
                milliseconds(slow),
                ratio(slow, fast),
                target,
            ]
        )
    return rows


def copy(server: Server, options) -> list:
    """COPY into a table with an index: minlsh's, pg_trgm's, none."""
    texts = list(corpus.texts(2 * options.small, 1500, seed=2))
    before = write_file("copy_before.tsv", texts[: options.small])
    added = write_file("copy_added.tsv", texts[options.small :], first=options.small + 1)
    for kind in ("none", "minlsh", "pg_trgm"):
        server.load(f"copy_{kind}", before)
    server.index("copy_minlsh")
    server.run("CREATE INDEX ON copy_pg_trgm USING gin (body gin_trgm_ops)")

    def copy_into(kind):
        def measure():
            name = f"copy_{kind}"
            taken = server.time(f"COPY {name} FROM '{added}'") / options.small
            server.run(f"DELETE FROM {name} WHERE id > {options.small}")
            server.vacuum(name, *(["copy_minlsh_minlsh"] if kind == "minlsh" else []))
            return taken

        return measure

    figures = alternate(options.rounds, {kind: copy_into(kind) for kind in ("none", "minlsh", "pg_trgm")})
    floor = figures["none"]
    return [
        [
            f"COPY per document, {options.small:,} added to {options.small:,}; peer: pg_trgm GIN"
            f" (no index: {microseconds(floor)})",
            microseconds(figures["minlsh"]),
            microseconds(figures["pg_trgm"]),
            ratio(figures["pg_trgm"], figures["minlsh"]),
            ">= 4x",
        ],
        [
            "... of which the index, both less the table without one",
            microseconds(figures["minlsh"] - floor),
            microseconds(figures["pg_trgm"] - floor),
            ratio(figures["pg_trgm"] - floor, max(1e-9, figures["minlsh"] - floor)),
            "",
        ],
    ]


def datasketch_candidates(texts: list) -> set:
    """The pairs of ids that datasketch's index proposes at the threshold, its defaults kept."""
    index = MinHashLSH(threshold=THRESHOLD, num_perm=NUM_PERM)
    sketches = dict(enumerate(map(datasketch_signature, texts), 1))
    for key, sketch in sketches.items():
        index.insert(key, sketch)
    return {(key, other) for key, sketch in sketches.items() for other in index.query(sketch)}


def recall(server: Server, options) -> list:
    """Which of the exact pairs are found, and whether others come with them."""
    texts = list(corpus.texts(options.recall, 1000, seed=3, clustered=0.6, changed=0.05))
    server.load("recall", write_file("recall.tsv", texts))
    server.index("recall")
    note("counting the exact pairs")
    near = exact.similar_pairs({key: exact.shingles(text) for key, text in enumerate(texts, 1)}, 0.85)
    truth = {pair: similarity for pair, similarity in near.items() if similarity >= THRESHOLD}
    # Every pair can be found from either end: both are counted.
    wanted = {ends for a, b in truth for ends in ((a, b), (b, a))}
    peer = wanted & datasketch_candidates(texts)
    rows = []
    for verify in ("exact", "signature"):
        answer = server.rows(
            f"SELECT d.id, n.doc_id, n.similarity FROM recall d,"
            f" near_duplicates(d.id, {THRESHOLD}, index => 'recall', verify => '{verify}') n"
        )
        found = {(a, b): similarity for a, b, similarity in answer}
        hits = wanted & found.keys()
        if verify == "exact":
            name = f"{len(truth):,} pairs of J >= {THRESHOLD} ({len(near):,} of J >= 0.85); peer: MinHashLSH({THRESHOLD})"
            row = [f"recall, verify => 'exact', {name}", f"{len(hits) / len(wanted):.4f}"]
            rows.append([*row, f"{len(peer) / len(wanted):.4f}", "", ">= 0.99"])
            hard = {(a, b) for a, b in wanted if truth.get((a, b), truth.get((b, a))) < THRESHOLD + 0.02}
            figures = [f"{len(pairs & hard) / max(1, len(hard)):.4f}" for pairs in (hits, peer)]
            rows.append([f"... of the {len(hard) // 2:,} hardest, J < {THRESHOLD + 0.02:.2f}", *figures, "", ""])
        else:
            rows.append([f"recall, verify => '{verify}'", f"{len(hits) / len(wanted):.4f}", "", "", ""])
        precision = len(hits) / max(1, len(found))
        rows.append([f"precision, verify => '{verify}'", f"{precision:.4f}", "", "", "1" * (verify == "exact")])
        if verify == "exact":
            worst = max((abs(found[a, b] - truth.get((a, b), truth.get((b, a)))) for a, b in hits), default=0)
            rows.append(["largest error of an exact similarity", f"{worst:.1e}", "", "", "0"])
    pairs = server.rows(f"SELECT doc_a, doc_b FROM near_duplicate_pairs('recall', {THRESHOLD}, verify => 'exact')")
    hits = wanted & {(int(a), int(b)) for a, b in pairs} | wanted & {(int(b), int(a)) for a, b in pairs}
    name = "recall, near_duplicate_pairs, verify => 'exact'"
    rows.append([name, f"{len(hits) / len(wanted):.4f}", "", "", ">= 0.99"])
    return rows


def sizes(server: Server, options) -> list:
    """What the index takes on disk, per document."""
    need_docs(server, options)
    count, heap = server.rows("SELECT count(*), pg_table_size('docs') FROM docs")[0]
    side = server.value("SELECT pg_table_size('docs_minlsh')")
    rows = [["size per document: docs without its indexes", kilobytes(heap / count), "", "", ""]]
    rows.append(["size per document: docs_minlsh", kilobytes(side / count), "", "", ""])
    indexes = server.rows(
        "SELECT am.amname, c.relname, pg_relation_size(c.oid) FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid"
        " JOIN pg_am am ON am.oid = c.relam WHERE i.indrelid = 'docs_minlsh'::regclass ORDER BY 1, 2"
    )
    peer = server.value("SELECT to_regclass('small_trgm') IS NOT NULL") and server.value(
        "SELECT pg_relation_size('small_trgm') / count(*)::float8 FROM small"
    )
    total = side + sum(size for _, _, size in indexes)
    rows += [[f"size per document: its {method} {name}", kilobytes(size / count), "", "", ""] for method, name, size in indexes]
    rows.append(
        [
            "size per document: all of the index; peer: pg_trgm GIN",
            kilobytes(total / count),
            kilobytes(peer) if peer else "",
            ratio(peer, total / count) if peer else "",
            "",
        ]
    )
    return rows


SECTIONS = {
    "functions": functions,
    "build": build,
    "lookups": lookups,
    "everything": everything,
    "trigrams": trigrams,
    "copy": copy,
    "recall": recall,
    "sizes": sizes,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sections", nargs="*", metavar="section", help=f"of {', '.join(SECTIONS)}; all by default")
    parser.add_argument("--documents", type=int, default=100_000, help="rows of the large table (100000)")
    parser.add_argument("--small", type=int, default=20_000, help="rows of the tables that pg_trgm indexes too (20000)")
    parser.add_argument("--sample", type=int, default=2000, help="documents a round for datasketch (2000)")
    parser.add_argument("--queries", type=int, default=25, help="lookups compared with pg_trgm (25)")
    parser.add_argument("--recall", type=int, default=5000, help="documents whose pairs are counted exactly (5000)")
    parser.add_argument("--rounds", type=int, default=3)
    options = parser.parse_args()
    unknown = set(options.sections) - SECTIONS.keys()
    if unknown:
        parser.error(f"no such section: {', '.join(sorted(unknown))}")

    server = Server()
    rows = []
    for name in options.sections or SECTIONS:
        note(name)
        start = time.perf_counter()
        rows += SECTIONS[name](server, options)
        note(f"{name}: {time.perf_counter() - start:.0f} s")
    versions = [
        f"PostgreSQL {server.value('SHOW server_version').split()[0]}",
        f"minlsh {server.value('SELECT minlsh_version()')}",
        "pg_trgm " + server.value("SELECT extversion FROM pg_extension WHERE extname = 'pg_trgm'"),
    ]
    print(f"\nOne backend, no parallel workers; medians of {options.rounds} alternating rounds.\n{machine(*versions)}\n")
    table(["measure", "minlsh", "peer", "ratio", "target"], rows)


if __name__ == "__main__":
    main()
