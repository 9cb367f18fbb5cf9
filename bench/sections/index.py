"""CREATE INDEX, lookups, inserts and sizes: minlsh beside the GIN index of pg_trgm."""

import corpus
from harness import THRESHOLD, Server, alternate, note

# Percentiles of what single calls take inside the server, in seconds.
LOOKUPS = """
DO $$
DECLARE
	start timestamptz;
	taken float8[] := '{{}}';
	number bigint;
BEGIN
	FOR number IN SELECT i * 7919 % {rows} + 1 FROM generate_series({first}, {last}::bigint) AS i LOOP
		start := clock_timestamp();
		PERFORM {call};
		taken := taken || extract(epoch FROM clock_timestamp() - start)::float8;
	END LOOP;
	PERFORM set_config('bench.p' || share,
		(SELECT percentile_cont(share / 100.0) WITHIN GROUP (ORDER BY t) FROM unnest(taken) AS t)::text, false)
	FROM unnest(ARRAY[50, 95]) AS share;
END $$
"""


class Way:
    """An index on the column body, and how documents are looked up by it."""

    CREATE: str
    DROP: str
    SIZE: str
    CALLS: int

    def __init__(self, server: Server):
        self.server = server

    def create(self, table: str) -> float:
        return self.server.time(self.CREATE.format(table=table))

    def recreate(self) -> float:
        taken = self.create("docs")
        self.server.run(self.DROP.format(table="docs"))
        return taken

    def size(self, table: str) -> int:
        return self.server.value(self.SIZE.format(table=table))

    def lookups(self, call: str, rows: int, first: int = 1) -> dict:
        """Of `CALLS` documents from everywhere in a table, after some others for a start."""
        measured = first + self.CALLS // 10
        for start, end in ((first, measured), (measured, measured + self.CALLS)):
            self.server.run(LOOKUPS.format(call=call, rows=rows, first=start, last=end - 1))
        return {p: float(self.server.value(f"SELECT current_setting('bench.{p}')")) for p in ("p50", "p95")}


class Index(Way):
    """An index of type minlsh."""

    CREATE = "CREATE INDEX {table}_near ON {table} USING minlsh (body)"
    DROP = "DROP INDEX {table}_near"
    SIZE = "SELECT pg_relation_size('{table}_near')"
    CALLS = 2000
    LOOKUP = {
        "near_duplicates": f"* FROM near_duplicates(number, {THRESHOLD}, 'docs')",
        "operator": f"b.id FROM docs AS a JOIN docs AS b ON b.body ~= minlsh_document(a.body, {THRESHOLD})"
        " WHERE a.id = number AND b.id <> number",
    }


class Trigrams(Way):
    """pg_trgm answers another question, about 3-letter trigrams: time is compared, not answers."""

    CREATE = "CREATE INDEX {table}_trgm ON {table} USING gin (body gin_trgm_ops)"
    DROP = "DROP INDEX {table}_trgm"
    SIZE = "SELECT pg_relation_size('{table}_trgm')"
    CALLS = 50
    LOOKUP = {"pg_trgm": "b.id FROM docs AS a JOIN docs AS b ON b.body % a.body WHERE a.id = number AND b.id <> number"}


def copy(server: Server, base, added, rows: int, way=None) -> float:
    """Seconds of the processor for a row of a COPY into a table, with the index if one is given."""
    server.load("fed", base)
    if way:
        way.create("fed")
    server.run("CHECKPOINT")
    start = server.processor()
    server.copy("fed", added)
    return (server.processor() - start) / rows


def entries(server: Server, rows: int, indexed: bool) -> float:
    """Seconds of the processor for as many entries as a row has, by PostgreSQL's own B-tree of random numbers."""
    bands = server.value("SELECT probes FROM lsh_params(0.8)")
    keys = "SELECT hashint8extended(i, 0) AS key FROM generate_series({}, {}) AS i"
    server.run(f"DROP TABLE IF EXISTS keys, more; CREATE TABLE keys AS {keys.format(1, rows * bands)}")
    server.run(f"CREATE TABLE more AS {keys.format(rows * bands + 1, 2 * rows * bands)}")
    if indexed:
        server.run("CREATE INDEX ON keys (key)")
    server.run("VACUUM ANALYZE keys, more")
    server.run("CHECKPOINT")
    return server.time("INSERT INTO keys SELECT * FROM more") / rows


def inserts(options, now: Server, trigrams: Way) -> dict:
    rows = options.inserts
    base = corpus.write(options.directory / "base.tsv", corpus.texts(rows))
    # Other documents, numbered on.
    texts = corpus.texts(rows, seed=2)
    added = options.directory / "added.tsv"
    with open(added, "w", encoding="utf-8") as file:
        file.writelines(f"{key}\t{text}\n" for key, text in enumerate(texts, rows + 1))
    measures = {"no index": lambda: copy(now, base, added, rows)}
    for name, way in {"minlsh": Index(now), "pg_trgm": trigrams}.items():
        measures[name] = lambda way=way: copy(now, base, added, rows, way)
    measures["entries, no index"] = lambda: entries(now, rows, False)
    measures["entries"] = lambda: entries(now, rows, True)
    figures = alternate(options, measures)
    figures["rows"] = rows
    return figures


def near_unique(options, server: Server) -> dict:
    """Seconds of the processor for texts made from one template: into an index, and under a constraint of it."""
    words = "md5(i || ' ' || j) < 'c4'"
    server.run(
        "DROP TABLE IF EXISTS letters; CREATE TABLE letters AS SELECT i AS id, string_agg(substr(CASE WHEN "
        f"{words} THEN md5('template' || j) ELSE md5(i || 'own' || j) END, 1, 3 + j % 6), ' ' ORDER BY j) AS body "
        f"FROM generate_series(1, {options.letters}) AS i, generate_series(1, 140) AS j GROUP BY i"
    )

    def load(index: str, conflict: str) -> float:
        server.run(f"DROP TABLE IF EXISTS kept; CREATE TABLE kept (LIKE letters{index}")
        server.run("CHECKPOINT")
        start = server.processor()
        server.run(f"INSERT INTO kept SELECT * FROM letters {conflict}")
        return server.processor() - start

    document = "USING minlsh (minlsh_document(body, 0.8)"
    plain = f"); CREATE INDEX ON kept {document})"
    constraint = f", EXCLUDE {document} WITH ~=))"
    figures = alternate(
        options,
        {"index": lambda: load(plain, ""), "constraint": lambda: load(constraint, "ON CONFLICT DO NOTHING")},
    )
    figures["rows"] = options.letters
    return figures


def reloaded(options, server: Server, texts, count: int) -> dict:
    """A table emptied and filled again, with its index there, and with the index made afterwards."""
    index = Index(server)

    def load(dropped: bool) -> float:
        server.run("CHECKPOINT")
        start = server.processor()
        if dropped:
            server.run(index.DROP.format(table="docs"))
        server.run("TRUNCATE docs")
        server.copy("docs", texts)
        if dropped:
            index.create("docs")
        return server.processor() - start

    figures = alternate(options, {"there": lambda: load(False), "dropped": lambda: load(True)}, "COPY")
    figures["rows"] = count
    return figures


def measured(options, count: int, ways: dict) -> dict:
    of = f"{count:,} documents"
    figures = alternate(options, {f"{name}: create": way.recreate for name, way in ways.items()}, of)
    for name, way in ways.items():
        way.server.reconnect()
        way.server.run("SET pg_trgm.similarity_threshold = 0.9")
        way.create("docs")
        figures[f"{name}: memory"] = way.server.memory()
        figures[f"{name}: size"] = way.size("docs")
    for way in ways.values():
        way.server.run("VACUUM ANALYZE docs")
        # pg_trgm at its best: left alone, the planner scans the table.
        way.server.run("SET enable_seqscan = off")
    lookups = {name: (way, call) for way in ways.values() for name, call in way.LOOKUP.items()}
    measures = {}
    for name, (way, call) in lookups.items():
        measures[name] = lambda name=name, way=way, call=call: {
            f"{name}: {p}": value for p, value in way.lookups(call, count).items()
        }
    figures.update(alternate(options, measures, of))
    return figures


def measure(options) -> dict:
    found = {"sizes": {}}
    with Server() as now:
        now.run("CREATE EXTENSION pg_trgm")
        for count in options.sizes:
            note(f"{count:,} documents: index")
            texts = corpus.write(options.directory / "docs.tsv", corpus.texts(count))
            now.load("docs", texts)
            ways = {"minlsh": Index(now)}
            if count <= options.trigrams_up_to:
                ways["pg_trgm"] = Trigrams(now)
            found["sizes"][str(count)] = measured(options, count, ways)
            if count <= options.peers_up_to:
                found["reload"] = reloaded(options, now, texts, count)
        note("inserts")
        found["inserts"] = inserts(options, now, Trigrams(now))
        found["near_unique"] = near_unique(options, now)
    return found
