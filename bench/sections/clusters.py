"""Tracked clusters: a refresh after some changes against a job over all documents, what writers pay, and the cluster
of one row."""

import corpus
from harness import Server, alternate, note
from sections.index import LOOKUPS

CHANGES = (100, 1_000, 10_000)
# Changes of so many rows, spread over the table.
KINDS = {
    "inserted": "INSERT INTO docs SELECT -id, body FROM docs WHERE id % {step} = 1 LIMIT {changes}",
    "deleted": "DELETE FROM docs WHERE id % {step} = 2",
    "changed": "UPDATE docs SET body = body || ' altered' WHERE id % {step} = 3",
}
# Copies of one text, and changes of a row among them.
COPIES = 10_000
COPY = "INSERT INTO docs SELECT {first} + i, body FROM docs, generate_series(1, {copies}) AS i WHERE id = 1"
OF_COPIES = {
    "beside": "INSERT INTO docs SELECT -id, body FROM docs WHERE id = {first} + 1",
    "deleted": "DELETE FROM docs WHERE id = {first} + {copies} / 2",
}
REFRESH = "SELECT was_full FROM minlsh_refresh_clusters('docs_clusters')"
JOB = "SELECT count(*) FROM near_duplicate_clusters('docs_near')"
CALLS = {
    "near_duplicate_cluster_of": "* FROM near_duplicate_cluster_of(number)",
    "near_duplicates": "* FROM near_duplicates(number)",
}


def refresh(server: Server, change: str) -> dict:
    """Seconds of a refresh after a change, which is rolled back, and whether it looked at all documents."""
    server.run("BEGIN")
    server.run(change)
    start = server.processor()
    was_full = server.value(REFRESH)
    taken = server.processor() - start
    server.run("ROLLBACK")
    return {"taken": taken, "full": float(was_full)}


def vacuum(server: Server) -> None:
    """At the same points of each round."""
    server.run("VACUUM ANALYZE docs, docs_clusters, docs_clusters_list, docs_clusters_log, docs_clusters_queue")
    server.run("CHECKPOINT")


def copies(options, server: Server, count: int) -> dict:
    """A refresh after a row was inserted beside many copies, and after one of these was deleted."""
    numbers = {"first": 2 * count, "copies": COPIES}
    server.run(COPY.format(**numbers))
    server.run(REFRESH)
    vacuum(server)
    changes = {f"copies: {name}": sql.format(**numbers) for name, sql in OF_COPIES.items()}
    measures = {
        name: lambda name=name, change=change: {
            f"{name}: {figure}": value for figure, value in refresh(server, change).items()
        }
        for name, change in changes.items()
    }
    return alternate(options, measures, f"{count:,} documents")


def deletes(server: Server, rows: int, triggers: str) -> float:
    """Seconds for each row of a DELETE, which writes no entry of an index."""
    server.run("BEGIN")
    for name in ("capture", "update"):
        server.run(f"ALTER TABLE docs {triggers} TRIGGER docs_clusters_queue_{name}")
    taken = server.time(f"DELETE FROM docs WHERE id <= {rows}")
    server.run("ROLLBACK")
    return taken / rows


def lookups(server: Server, call: str, rows: int) -> float:
    for calls in (100, 1000):  # the first warm
        server.run(LOOKUPS.format(call=call, rows=rows, first=1, last=calls))
    return float(server.value("SELECT current_setting('bench.p50')"))


def measured(options, server: Server, count: int) -> dict:
    server.run("CREATE INDEX docs_near ON docs USING minlsh (body)")
    server.run("SELECT minlsh_track_clusters('docs_near')")
    # A refresh does not write the pages that were loaded.
    server.run("CHECKPOINT")
    first = server.time(REFRESH)
    if options.rounds > 1:
        options.once.append(f"first refresh ({count:,} documents)")
    vacuum(server)
    tables = ("docs_clusters", "docs_clusters_list")
    kept = {
        "members": server.value("SELECT count(*) FROM docs_clusters"),
        "bytes": sum(server.value(f"SELECT pg_total_relation_size('{table}')") for table in tables),
    }
    measures = {
        "job": lambda: server.time(JOB),
        "full": lambda: server.time("SELECT minlsh_refresh_clusters('docs_clusters', true)"),
        "nothing": lambda: server.time(REFRESH),
    }
    for changes in (changes for changes in CHANGES if changes * 10 <= count):
        for kind, sql in KINDS.items():
            change = sql.format(step=count // changes, changes=changes)
            measures[f"{kind}: {changes}"] = lambda kind=kind, changes=changes, change=change: {
                f"{kind}: {changes}: {name}": value for name, value in refresh(server, change).items()
            }
    for name, triggers in (("captured", "ENABLE ALWAYS"), ("not captured", "DISABLE")):
        measures[name] = lambda triggers=triggers: deletes(server, min(count, 50_000), triggers)
    for name, call in CALLS.items():
        measures[name] = lambda call=call: lookups(server, call, count)
    figures = alternate(options, measures, f"{count:,} documents")
    return {**figures, **kept, **copies(options, server, count), "first": first}


def measure(options) -> dict:
    found = {}
    with Server() as server:
        for count in options.sizes:
            note(f"{count:,} documents: tracked clusters")
            server.load("docs", corpus.write(options.directory / "docs.tsv", corpus.texts(count)))
            found[str(count)] = measured(options, server, count)
    return found
