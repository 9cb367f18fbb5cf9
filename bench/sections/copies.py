"""Copies, not look-alikes: which pairs of labelled documents are found, with and without what those of one origin
share, and how long leaving it out takes."""

import copies
import corpus
from harness import THRESHOLD, Server, alternate, note

WAYS = {"all counts": "", "boilerplate left out": ", boilerplate => 'origin'"}
THRESHOLDS = (0.8, 0.7)
ORIGINS = 1000

TRUE = """SELECT kind, sum(n * (n - 1) / 2)::bigint, sum(n)::bigint
FROM (SELECT kind, count(*) AS n FROM labelled GROUP BY kind, copies) AS groups GROUP BY kind"""
FOUND = """SELECT a.kind, count(*) FILTER (WHERE a.copies = b.copies), count(*) FILTER (WHERE a.copies <> b.copies)
FROM near_duplicate_pairs('labelled', {threshold}, key => NULL::integer, body => 'body'{boilerplate}) AS p
JOIN labelled AS a ON a.id = doc_a JOIN labelled AS b ON b.id = doc_b GROUP BY a.kind"""
PAIRS = "SELECT count(*) FROM near_duplicate_pairs('docs', {threshold}, key => NULL::bigint, body => 'body'{way})"


def labelled(server: Server) -> dict:
    """For each kind the number of true pairs and of documents, and for each way the pairs found, true and wrong."""
    server.run("CREATE TABLE labelled (id integer PRIMARY KEY, kind text, origin text, copies text, body text)")
    with server.connection.cursor().copy("COPY labelled FROM STDIN") as copy:
        for line in copies.lines():
            copy.write(line)
    server.run("VACUUM ANALYZE labelled")
    truth = server.rows(TRUE)
    kinds = {kind: {"true": true, "documents": documents, "found": {}} for kind, true, documents in truth}
    for threshold in THRESHOLDS:
        for way, boilerplate in WAYS.items():
            found = server.rows(FOUND.format(threshold=threshold, boilerplate=boilerplate))
            counts = {kind: [true, wrong] for kind, true, wrong in found}
            for kind, each in kinds.items():
                each["found"][f"{way}, {threshold}"] = counts.get(kind, [0, 0])
    return {kind: kinds[kind] for kind in copies.KINDS}


def measure(options) -> dict:
    note("copies: labelled documents")
    sizes = {}
    with Server() as server:
        kinds = labelled(server)
        for count in options.sizes:
            note(f"{count:,} documents of {ORIGINS:,} origins")
            server.load("texts", corpus.write(options.directory / "docs.tsv", corpus.texts(count)))
            server.run("DROP TABLE IF EXISTS docs")
            server.run("CREATE TABLE docs (id bigint PRIMARY KEY, origin integer, body text)")
            server.run(f"INSERT INTO docs SELECT id, id % {ORIGINS}, body FROM texts ORDER BY id")
            server.run("VACUUM ANALYZE docs")
            calls = {name: PAIRS.format(threshold=THRESHOLD, way=way) for name, way in WAYS.items()}
            measures = {name: (lambda sql=sql: server.time(sql)) for name, sql in calls.items()}
            sizes[str(count)] = alternate(options, measures, f"{count:,} documents")
    return {"kinds": kinds, "sizes": sizes}
