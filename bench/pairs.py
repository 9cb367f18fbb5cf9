#!/usr/bin/env python3
"""From a table to its pairs, without an index and with one. See pairs.sh.

Two parts. The first is a generated corpus (corpus.py, documents of 1 kB): near_duplicate_pairs() as it is asked by
default, verified exactly, beside the peers from the same table (benchmarks/peers.py) and beside a scan of the table.
The second is real files that share templates, read from the folders given with --files (default: the manual pages and
HTML files of this machine): exact verification beside verification by signature.

Seconds on the clock, and for minlsh the seconds of the processor as well: on a shared machine only these compare.
"""

import argparse
import gzip
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import corpus
import psycopg
from common import machine, note, ratio, table

PEERS = Path(__file__).resolve().parent / "benchmarks" / "peers.py"
FOLDERS = ("/usr/share/man", "/usr/share/doc", "/usr/include")


class Server:
    """A connection, and the processor time of its backend."""

    def __init__(self):
        self.connection = psycopg.connect("", autocommit=True)
        self.connection.execute("CREATE EXTENSION IF NOT EXISTS minlsh")
        self.connection.execute("SET client_min_messages = error")
        self.pid = self.value("SELECT pg_backend_pid()")

    def value(self, sql: str):
        return self.connection.execute(sql).fetchone()[0]

    def load(self, name: str, texts) -> None:
        self.connection.execute(f"DROP TABLE IF EXISTS {name}")
        self.connection.execute(f"CREATE TABLE {name} (id bigint PRIMARY KEY, body text)")
        with self.connection.cursor().copy(f"COPY {name} FROM STDIN") as copy:
            for row in enumerate(texts, 1):
                copy.write_row(row)
        self.connection.execute(f"VACUUM ANALYZE {name}")

    def processor(self) -> float:
        fields = Path(f"/proc/{self.pid}/stat").read_text(encoding="ascii").rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def measure(self, sql: str, rounds: int) -> tuple:
        """The value, and the least seconds on the clock and of the processor."""
        best = []
        for _ in range(rounds):
            start, used = time.perf_counter(), self.processor()
            value = self.value(sql)
            best.append((time.perf_counter() - start, self.processor() - used))
        return value, min(clock for clock, _ in best), min(used for _, used in best)


def peer(name: str, rows: int) -> tuple:
    """Pairs and seconds of a peer, reading of the table included."""
    note(f"{name}: {rows} documents")
    command = [sys.executable, str(PEERS), name, "--table", "docs"]
    output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    said = [json.loads(line) for line in output.splitlines()]
    return next(line["pairs"] for line in said if "pairs" in line), sum(line.get("seconds", 0) for line in said)


def generated(server: Server, options) -> None:
    server.load("docs", corpus.texts(options.documents))
    _, scan, _ = server.measure("SELECT count(body) FROM docs WHERE octet_length(body) > 0", options.rounds)
    rows = []
    ours = None
    for name, arguments in (
        ("minlsh, exact", "'docs', 0.9"),
        ("minlsh, exact, keys as bigint", "'docs', 0.9, key => NULL::bigint"),
        ("minlsh, by signature", "'docs', 0.9, 'signature'"),
    ):
        sql = f"SELECT count(*) FROM near_duplicate_pairs({arguments})"
        pairs, clock, used = server.measure(sql, options.rounds)
        ours = ours or clock
        rows.append([name, f"{pairs:,}", f"{clock:.2f}", f"{used:.2f}", ratio(clock, ours), ratio(clock, scan)])
    server.connection.execute("CREATE INDEX docs_body ON docs USING minlsh (body)")
    pairs, clock, used = server.measure("SELECT count(*) FROM near_duplicate_pairs('docs_body', 0.9)", options.rounds)
    named = "minlsh, exact, with the index there"
    rows.append([named, f"{pairs:,}", f"{clock:.2f}", f"{used:.2f}", ratio(clock, ours), ratio(clock, scan)])
    for name in options.peers:
        pairs, clock = peer(name, options.documents)
        rows.append([name, f"{pairs:,}", f"{clock:.2f}", "", ratio(clock, ours), ratio(clock, scan)])
    rows.append(["scan of the table", "", f"{scan:.2f}", "", ratio(scan, ours), "1x"])
    print(f"\n{options.documents:,} documents of 1 kB, threshold 0.9, maintenance_work_mem {options.memory}\n")
    table(["from table to pairs", "pairs", "s", "processor s", "of ours", "of the scan"], rows)


def files(folders) -> list:
    texts = []
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.is_file() and path.suffix in (".gz", ".html", ".h", ".txt", ".1", ".3", ".7"):
                try:
                    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
                    text = data.decode("utf-8").replace("\0", "")
                except (OSError, ValueError, EOFError):
                    continue
                if text:
                    texts.append(text)
    return texts


def templates(server: Server, options) -> None:
    texts = files(options.files)
    server.load("files", texts)
    size = sum(map(len, texts)) / len(texts) if texts else 0
    rows = []
    for threshold in (0.8, 0.9):
        times = {}
        for verify in ("signature", "exact"):
            sql = f"SELECT count(*) FROM near_duplicate_pairs('files', {threshold}, '{verify}')"
            pairs, clock, used = server.measure(sql, options.rounds)
            times[verify] = used
            rows.append([f"{threshold}, {verify}", f"{pairs:,}", f"{clock:.2f}", f"{used:.2f}", ratio(used, times["signature"])])
    print(f"\n{len(texts):,} files of {size:,.0f} characters on average\n")
    table(["real files, threshold", "pairs", "s", "processor s", "of signature"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--memory", default="64MB", help="maintenance_work_mem (64MB)")
    parser.add_argument("--peers", nargs="*", default=["rensa", "datasketch"])
    parser.add_argument("--files", nargs="*", default=FOLDERS, metavar="FOLDER")
    options = parser.parse_args()
    print(f"\n{machine()}", flush=True)
    server = Server()
    server.connection.execute(f"SET maintenance_work_mem = '{options.memory}'")
    generated(server, options)
    templates(server, options)


if __name__ == "__main__":
    main()
