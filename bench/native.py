#!/usr/bin/env python3
"""CREATE INDEX ... USING minlsh beside version 0.1. See native.sh.

Both servers have the same settings and the same rows. What is compared alternates in rounds.
Nothing passes or fails here: a busy machine is not a bug.
"""

import argparse
import os

import psycopg
from common import alternate, machine, note, ratio, seconds, table

THRESHOLD = 0.9

# Texts of about 1 kB. A third of the rows are copies with one line changed, in groups of four.
ROWS = """
INSERT INTO {table}
SELECT i, (SELECT string_agg(md5((seed * 64 + line)::text), ' ') FROM generate_series(1, 30) AS line) || md5(i::text)
FROM (SELECT i, CASE WHEN i % 12 < 4 THEN i / 12 * 12 ELSE i END AS seed
	FROM generate_series({first}, {last}) AS i) AS d
"""

# Percentiles of what single calls take inside the server.
LOOKUPS = """
DO $$
DECLARE
	start timestamptz;
	taken float8[] := '{{}}';
	number bigint;
BEGIN
	FOR number IN SELECT i * 7919 % {rows} + 1 FROM generate_series(1, {calls}) AS i LOOP
		start := clock_timestamp();
		PERFORM {call};
		taken := taken || extract(epoch FROM clock_timestamp() - start)::float8 * 1000;
	END LOOP;
	PERFORM set_config('bench.p' || share,
		(SELECT percentile_cont(share / 100.0) WITHIN GROUP (ORDER BY t) FROM unnest(taken) AS t)::text, false)
	FROM unnest(ARRAY[50, 95]) AS share;
END $$
"""
BY_OPERATOR = (
    "b.id FROM docs a JOIN docs b ON b.body ~= minlsh_document(a.body, 0.9) WHERE a.id = number AND b.id <> number"
)
BY_FUNCTION = "* FROM near_duplicates(number, 0.9)"


class Server:
    """One of the two servers."""

    def __init__(self, host: str):
        self.connection = psycopg.connect(host=host, autocommit=True)
        self.run("SET client_min_messages = warning")
        self.run("CREATE EXTENSION IF NOT EXISTS minlsh")

    def run(self, sql):
        return self.connection.execute(sql)

    def value(self, sql):
        return self.run(sql).fetchone()[0]

    def fill(self, name: str, rows: int) -> None:
        self.run(f"DROP TABLE IF EXISTS {name} CASCADE")
        self.run(f"CREATE TABLE {name} (id bigint PRIMARY KEY, body text)")
        step = 1_000_000
        for first in range(1, rows + 1, step):
            self.run(ROWS.format(table=name, first=first, last=min(first + step - 1, rows)))
        self.run(f"VACUUM ANALYZE {name}")

    def lookups(self, call: str, rows: int, calls: int = 2000) -> tuple:
        self.run(LOOKUPS.format(call=call, rows=rows, calls=200))
        self.run(LOOKUPS.format(call=call, rows=rows, calls=calls))
        return tuple(float(self.value(f"SELECT current_setting('bench.{name}')")) for name in ("p50", "p95"))

    def peak_memory(self) -> float:
        """MB that this backend has had at most, without the buffers that all share."""
        pid = self.value("SELECT pg_backend_pid()")
        with open(f"/proc/{pid}/status", encoding="utf-8") as status:
            values = {name: value.split()[0] for name, value in (line.split(":", 1) for line in status) if value.split()}
        return (int(values["VmHWM"]) - int(values["RssShmem"])) / 1024


class Native:
    """The index type."""

    def __init__(self, server: Server, index: str = "docs_body_idx"):
        self.server, self.index = server, index

    def create(self, name: str) -> None:
        self.server.run(f"CREATE INDEX {name}_body_idx ON {name} USING minlsh (body)")

    def drop(self, name: str) -> None:
        self.server.run(f"DROP INDEX IF EXISTS {name}_body_idx")

    def size(self, name: str) -> int:
        return self.server.value(f"SELECT pg_relation_size('{name}_body_idx')")


class Former:
    """Version 0.1: a side table."""

    def __init__(self, server: Server):
        self.server = server

    def create(self, name: str) -> None:
        self.server.run(f"SELECT minlsh_create_index('{name}', 'body')")

    def drop(self, name: str) -> None:
        if self.server.value(f"SELECT to_regclass('{name}_minlsh') IS NOT NULL"):
            self.server.run(f"SELECT minlsh_drop_index('{name}')")

    def size(self, name: str) -> int:
        return self.server.value(f"SELECT pg_total_relation_size('{name}_minlsh')")


def build(way, rows: int, memory: str) -> float:
    way.drop("docs")
    way.server.run(f"SET maintenance_work_mem = '{memory}'")
    return seconds(lambda: way.create("docs")) / rows * 1e6


def copy(way, rows: int) -> float:
    """Microseconds a row of an INSERT ... SELECT into an indexed table that has as many rows already."""
    way.server.fill("fed", rows)
    way.drop("fed")
    way.create("fed")
    insert = ROWS.format(table="fed", first=rows + 1, last=2 * rows)
    way.server.run("CHECKPOINT")
    taken = seconds(lambda: way.server.run(insert))
    way.drop("fed")
    way.server.run(f"DELETE FROM fed WHERE id > {rows}")
    way.server.run("VACUUM fed")
    return (taken - seconds(lambda: way.server.run(insert))) / rows * 1e6


def compare(options, now: Server, before: Server) -> list:
    rows, lines = options.documents, []
    native, former = Native(now), Former(before)
    note(f"{rows} documents of 1 kB into both servers")
    for server in (now, before):
        server.fill("docs", rows)
    figures = alternate(
        options.rounds,
        {
            "native": lambda: build(native, rows, "64MB"),
            "former": lambda: build(former, rows, "64MB"),
            "bare": lambda: seconds(lambda: now.run("SELECT count(minhash(body)) FROM docs")) / rows * 1e6,
        },
    )
    lines.append(("create, µs/document", figures["native"], figures["former"], "6x, <= 5 µs"))
    lines.append(("of which sketching: count(minhash(body)), µs/document", figures["bare"], None, ""))
    sizes = [way.size("docs") / rows for way in (native, former)]
    lines.append(("size, bytes/document", *sizes, "<= 380"))
    now.run("VACUUM ANALYZE docs")
    before.run("VACUUM ANALYZE docs")
    looked = {
        "operator": now.lookups(BY_OPERATOR, rows),
        "function": now.lookups(BY_FUNCTION, rows),
        "exact": before.lookups("* FROM near_duplicates(number, 0.9, verify => 'exact')", rows),
    }
    for number, name in enumerate(("p50", "p95")):
        former_ms = looked["exact"][number]
        lines.append((f"lookup by ~=, {name}, ms", looked["operator"][number], former_ms, "<= 0.2 (p50)"))
        lines.append((f"near_duplicates(id, 0.9), {name}, ms", looked["function"][number], former_ms, "<= 0.2 (p50)"))
    note("INSERT into indexed tables")
    figures = alternate(
        options.rounds,
        {"native": lambda: copy(native, options.inserts), "former": lambda: copy(former, options.inserts)},
    )
    lines.append(("insert, µs/row above the table without", figures["native"], figures["former"], ">= 1x"))
    return lines


def growth(options, now: Server) -> list:
    lines = []
    for rows in options.growth:
        note(f"{rows} documents")
        now.fill("docs", rows)
        native = Native(now)
        micro = build(native, rows, "64MB")
        memory = now.peak_memory()
        now.run("VACUUM ANALYZE docs")
        p50, p95 = now.lookups(BY_OPERATOR, rows)
        q50, q95 = now.lookups(BY_FUNCTION, rows)
        now.run("DELETE FROM docs WHERE id % 100 = 0")
        vacuum = seconds(lambda: now.run("VACUUM docs"))
        lines.append(
            [f"{rows:,}", f"{micro:.2f}", f"{micro * rows / 1e6:.1f}", f"{native.size('docs') / rows:.0f}",
             f"{memory:.0f}", f"{p50:.3f}", f"{p95:.3f}", f"{q50:.3f}", f"{q95:.3f}", f"{vacuum:.1f}"]
        )
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--documents", type=int, default=200_000, help="rows for the comparison")
    parser.add_argument("--inserts", type=int, default=50_000, help="rows inserted into an indexed table")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--growth", type=int, nargs="*", default=[10_000, 100_000, 1_000_000])
    options = parser.parse_args()
    now, before = Server(os.environ["NOW_HOST"]), Server(os.environ["PGHOST"])
    print(machine(now.value("SHOW server_version")))
    if options.documents:
        rows = []
        for name, ours, theirs, target in compare(options, now, before):
            other = ("", "") if theirs is None else (f"{theirs:.3g}", ratio(theirs, ours))
            rows.append((name, f"{ours:.3g}", *other, target))
        print()
        table((f"{options.documents:,} documents", "index", "version 0.1", "ratio", "target"), rows)
    if options.growth:
        header = ("documents", "µs each", "create, s", "bytes each", "backend, MB", "~= p50, ms", "p95",
                  "near_duplicates p50, ms", "p95", "VACUUM of 1 %, s")
        print()
        table(header, growth(options, now))


if __name__ == "__main__":
    main()
