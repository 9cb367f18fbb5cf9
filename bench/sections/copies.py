"""Copies, not look-alikes: which pairs of labelled documents are found, with and without what those of one origin
share, and by rensa and datasketch; how long leaving it out takes, and how much memory."""

import copies
import corpus
from harness import THRESHOLD, Server, alternate, note
from sections.pairs import memory_of, peer

WAYS = {"all counts": "", "boilerplate left out": ", boilerplate => 'origin'"}
QUESTIONS = (
    ("all counts", 0.8), ("boilerplate left out", 0.8),
    ("all counts", 0.7), ("boilerplate left out", 0.7),
    ("boilerplate left out", 0.6),
)  # fmt: skip
PEERS = ("rensa", "datasketch")
THRESHOLD_OF_PEERS = 0.7
ORIGINS = 1000

TRUE = """SELECT kind, sum(n * (n - 1) / 2)::bigint, sum(n)::bigint
FROM (SELECT kind, count(*) AS n FROM labelled GROUP BY kind, copies) AS groups GROUP BY kind"""
FOUND = """SELECT a.kind, count(*) FILTER (WHERE a.copies = b.copies), count(*) FILTER (WHERE a.copies <> b.copies)
FROM {pairs} AS p JOIN labelled AS a ON a.id = doc_a JOIN labelled AS b ON b.id = doc_b GROUP BY a.kind"""
LABELLED = "near_duplicate_pairs('labelled', {threshold}, body => 'body'{way})"
PAIRS = "SELECT count(*) FROM near_duplicate_pairs('docs', {threshold}, body => 'body'{way})"


def labelled(server: Server, options) -> dict:
    """For each kind the number of true pairs and of documents, and for each way the pairs found, true and wrong."""
    server.run("CREATE TABLE labelled (id integer PRIMARY KEY, kind text, origin text, copies text, body text)")
    with server.connection.cursor().copy("COPY labelled FROM STDIN") as copy:
        for line in copies.lines():
            copy.write(line)
    server.run("VACUUM ANALYZE labelled")
    truth = server.rows(TRUE)
    kinds = {kind: {"true": true, "documents": documents, "found": {}} for kind, true, documents in truth}

    def note_found(name: str, pairs: str) -> None:
        counts = {kind: [true, wrong] for kind, true, wrong in server.rows(FOUND.format(pairs=pairs))}
        for kind, each in kinds.items():
            each["found"][name] = counts.get(kind, [0, 0])

    for way, threshold in QUESTIONS:
        note_found(f"{way}, {threshold}", LABELLED.format(threshold=threshold, way=WAYS[way]))
    # What the peers read.
    server.run("CREATE VIEW docs AS SELECT id, body FROM labelled")
    server.run("CREATE TABLE found (doc_a integer, doc_b integer)")
    for name in PEERS:
        file = options.directory / "pairs"
        server.run("TRUNCATE found")
        if peer(server, name, options.limit, file, THRESHOLD_OF_PEERS):
            server.copy("found", file)
            note_found(f"{name}, {THRESHOLD_OF_PEERS}", "found")
    server.run("DROP VIEW docs")
    return {kind: kinds[kind] for kind in copies.KINDS}


def measure(options) -> dict:
    note("copies: labelled documents")
    sizes = {}
    with Server() as server:
        kinds = labelled(server, options)
        for count in options.sizes:
            note(f"{count:,} documents of {ORIGINS:,} origins")
            server.run("DROP TABLE IF EXISTS docs")
            origin = f"origin integer GENERATED ALWAYS AS (id % {ORIGINS}) STORED"
            server.run(f"CREATE TABLE docs (id bigint PRIMARY KEY, body text, {origin})")
            file = corpus.write(options.directory / "docs.tsv", corpus.texts(count))
            server.copy("docs", file)
            file.unlink()
            server.run("VACUUM ANALYZE docs")
            calls = {name: PAIRS.format(threshold=THRESHOLD, way=way) for name, way in WAYS.items()}
            measures = {name: (lambda sql=sql: server.time(sql)) for name, sql in calls.items()}
            sizes[str(count)] = alternate(options, measures, f"{count:,} documents")
            for name, sql in calls.items():
                sizes[str(count)][f"{name}: memory"] = memory_of(server, sql)
    return {"kinds": kinds, "sizes": sizes}
