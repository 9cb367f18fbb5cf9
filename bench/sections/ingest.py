"""Rows that arrive in a table with an index: many by one statement, and as many by one statement each. Each way is
measured directly after a checkpoint, when nearly each page goes into the WAL as a whole, and then once more."""

import corpus
from harness import Server, alternate, note

# Rows that arrive at a time, or as many as are there.
MOST = 100_000
# When the rows of the two measures of a way arrive, after a checkpoint: the later ones find pages that are in the WAL.
MOMENTS = ("at once", "later")
# The ways in which rows arrive: by one statement, or by one statement each. Each way fills an index of its own, so that
# both find pages that are as full as the other way's, and split as many.
EACH = "each"
WAYS = ("together", EACH)
PLAIN = "plain"
ONE_BY_ONE = """
DO $$
DECLARE
	new record;
BEGIN
	FOR new IN SELECT * FROM arriving LOOP
		INSERT INTO {table} VALUES (new.id, new.body);
	END LOOP;
END $$
"""


class Arrivals:
    """Tables of the same texts: one without an index, one with an index for each way. New texts arrive in them."""

    def __init__(self, options, server: Server, count: int):
        self.server, self.rows, self.next, self.seed = server, min(count, MOST), count, 1
        self.options = options
        texts = corpus.write(options.directory / "docs.tsv", corpus.texts(count))
        for table in (PLAIN, *WAYS):
            server.load(table, texts)
            if table != PLAIN:
                server.run(f"CREATE INDEX ON {table} USING minlsh (body)")

    def measure(self, way: str) -> dict:
        """Seconds of the processor and bytes of WAL for a row, of both tables at both moments."""
        found = {}
        for which, table in {"plain": PLAIN, "index": way}.items():
            self.server.run("CHECKPOINT")
            for moment in MOMENTS:
                for what, value in self.arrive(table, way).items():
                    found[f"{way}, {which}, {moment}: {what}"] = value
        return found

    def arrive(self, table: str, way: str) -> dict:
        file, server = self.options.directory / "arriving.tsv", self.server
        self.seed += 1
        with open(file, "w", encoding="utf-8") as output:
            texts = corpus.texts(self.rows, seed=self.seed)
            output.writelines(f"{key}\t{text}\n" for key, text in enumerate(texts, self.next + 1))
        self.next += self.rows
        server.load("arriving", file)
        wal, start = server.value("SELECT pg_current_wal_insert_lsn()"), server.processor()
        if way == EACH:
            server.run(ONE_BY_ONE.format(table=table))
        else:
            server.copy(table, file)
        taken = server.processor() - start
        written = server.value("SELECT pg_current_wal_insert_lsn() - %s::pg_lsn", [wal])
        return {"processor": taken / self.rows, "wal": float(written) / self.rows}


def measure(options) -> dict:
    found = {}
    with Server() as server:
        for count in options.sizes:
            note(f"{count:,} documents: arrivals")
            arrivals = Arrivals(options, server, count)
            measures = {way: lambda way=way: arrivals.measure(way) for way in WAYS}
            found[str(count)] = alternate(options, measures, f"{count:,} documents") | {"rows": arrivals.rows}
    return found
