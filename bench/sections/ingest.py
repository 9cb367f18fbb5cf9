"""Rows that arrive in a table with an index: many by one statement, and as many by one statement each."""

import corpus
from harness import Server, alternate, note

# Rows that arrive at a time, or as many as are there.
MOST = 100_000
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
    """Two tables of the same texts, one of them with an index, and texts that arrive in both."""

    def __init__(self, options, server: Server, count: int):
        self.server, self.rows, self.next = server, min(count, MOST), count
        self.options = options
        texts = corpus.write(options.directory / "docs.tsv", corpus.texts(count))
        for table in ("plain", "docs"):
            server.load(table, texts)
        server.run("CREATE INDEX near ON docs USING minlsh (body)")
        self.new = list(corpus.texts(self.rows, seed=2))

    def measure(self, table: str, name: str, is_one_statement: bool) -> dict:
        """Seconds of the processor and bytes of WAL for a row, directly after a checkpoint."""
        file, server = self.options.directory / "arriving.tsv", self.server
        with open(file, "w", encoding="utf-8") as output:
            output.writelines(f"{key}\t{text}\n" for key, text in enumerate(self.new, self.next + 1))
        self.next += self.rows
        server.load("arriving", file)
        server.run("CHECKPOINT")
        wal, start = server.value("SELECT pg_current_wal_insert_lsn()"), server.processor()
        if is_one_statement:
            server.copy(table, file)
        else:
            server.run(ONE_BY_ONE.format(table=table))
        taken = server.processor() - start
        written = server.value("SELECT pg_current_wal_insert_lsn() - %s::pg_lsn", [wal])
        return {f"{name}: processor": taken / self.rows, f"{name}: wal": float(written) / self.rows}


def measure(options) -> dict:
    found = {}
    with Server() as server:
        for count in options.sizes:
            note(f"{count:,} documents: arrivals")
            arrivals = Arrivals(options, server, count)
            measures = {
                f"{way}, {table}": lambda table=table, way=way: arrivals.measure(
                    table, f"{way}, {table}", way == "one statement"
                )
                for table in ("plain", "docs")
                for way in ("one statement", "one by one")
            }
            found[str(count)] = alternate(options, measures, f"{count:,} documents") | {"rows": arrivals.rows}
    return found
