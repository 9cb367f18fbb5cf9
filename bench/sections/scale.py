"""One large table: how its index is filled, changed and made again, and what jobs and lookups take then.

The run is made of steps. The database, which is kept in a folder, lists those that are done with their figures. A run
that was stopped, by whatever, goes on with the step that it was at.
"""

import copy
import fcntl
import itertools
import json
import os
import shutil
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Callable, NamedTuple

import corpus
import exact
from harness import CORES, THRESHOLD, Server, commit, machine, note
from sections import clusters, index

BATCHES = 30
# Batches after which figures of the filling are shown: 1, 3, 10 and 30 million of 30.
MILESTONES = (1, 3, 10, 30)
# Sessions that copy the batches between these at once.
SESSIONS = 2
# A part of a batch, which is copied directly after a checkpoint and with full pages in the WAL.
TAIL = 50
CHANGES = 1000
TURNS = ("at first", "again")
# Disk for each document at the peak, and for the server itself, its WAL included: measured, and rounded up.
BYTES_EACH, BYTES_ALWAYS = 1800, 5 << 30
# Full pages make the WAL of random insertions many times as long as the table. What they cost is measured apart.
SETTINGS = """
shared_buffers = '{buffers}MB'
effective_cache_size = '{cache}MB'
max_wal_size = 3GB
full_page_writes = off
maintenance_work_mem = 1GB
work_mem = 64MB
"""
SHOWN = ("shared_buffers", "maintenance_work_mem", "max_wal_size")
TABLE = """
CREATE TABLE docs (id bigint PRIMARY KEY, body text NOT NULL);
CREATE INDEX docs_near ON docs USING minlsh (body)
"""
# The same shingles, as case does not count: what is near what stays known.
UPDATE = "UPDATE docs SET body = upper(body) WHERE id % 20 = 1"
REPLACE = """
WITH gone AS (DELETE FROM docs WHERE id % 20 = 2 RETURNING id, body) INSERT INTO docs SELECT id, body FROM gone
"""
CALLS = {
    "pairs": "near_duplicate_pairs('docs_near', {})",
    "pairs, without an index": "near_duplicate_pairs('docs', {})",
    "clusters": "near_duplicate_clusters('docs_near', {})",
    "plan": "near_duplicate_plan('docs_near', {})",
}
STEPS = """
CREATE SCHEMA IF NOT EXISTS bench;
CREATE TABLE IF NOT EXISTS bench.run (rows bigint);
CREATE TABLE IF NOT EXISTS bench.steps (
    name text PRIMARY KEY, begun integer NOT NULL, figures jsonb, commit text, machine text)
"""


class Step(NamedTuple):
    name: str
    weight: float  # about how many microseconds it takes for each document of the table
    work: Callable[[], dict | None]
    # A step in one transaction is recorded by that transaction. Any other may be done twice.
    whole: bool = True
    # False if no table shows its figures, so that it may be done beside another.
    alone: bool = True


class Peaks(threading.Thread):
    """The most memory of a backend, temporary files and disk that are seen while a block runs."""

    def __init__(self, pid: int, folder: Path):
        super().__init__(daemon=True)
        self.status, self.folder, self.done = Path(f"/proc/{pid}/status"), folder, threading.Event()
        self.memory = self.temporary = self.disk = 0

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *failure):
        self.done.set()
        self.join()
        self.look()

    def run(self):
        for turn in itertools.count():
            self.look_at_memory()
            if turn % 10 == 0:
                self.look_at_disk()
            if self.done.wait(0.1):
                return

    def look(self):
        self.look_at_memory()
        self.look_at_disk()

    def look_at_memory(self):
        try:
            lines = self.status.read_text(encoding="utf-8").splitlines()
        except OSError:
            return  # the session has ended
        anonymous = next((line for line in lines if line.startswith("RssAnon")), "RssAnon: 0 kB")
        self.memory = max(self.memory, int(anonymous.split()[1]) * 1024)

    def look_at_disk(self):
        found = dict(files(self.folder))
        self.disk = max(self.disk, sum(found.values()))
        temporary = sum(size for path, size in found.items() if "pgsql_tmp" in path)
        self.temporary = max(self.temporary, temporary)


def files(folder: Path):
    """The files below a folder, and what they take on the disk. They come and go meanwhile."""
    for directory, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(directory, name)
            try:
                yield path, os.stat(path).st_blocks * 512
            except FileNotFoundError:
                continue


class Run:
    def __init__(self, rows: int, server: Server, folder: Path):
        self.rows, self.server, self.folder = rows, server, folder
        self.batch = -(-rows // BATCHES)
        self.corpus = corpus.Numbered(rows)
        server.run(STEPS)
        server.run("INSERT INTO bench.run SELECT %s WHERE NOT EXISTS (SELECT FROM bench.run)", [rows])
        kept = server.value("SELECT rows FROM bench.run")
        if kept != rows:
            sys.exit(f"{folder} has a run of {kept:,} rows: use --rows {kept}, another --folder, or remove it")

    def steps(self) -> list:
        """All of them in turn. Weights are of a run of 300,000 rows."""
        steps = [Step("table", 0, lambda: self.statement(TABLE))]
        for batch in range(1, BATCHES + 1):
            shown = batch in MILESTONES
            steps.append(Step(f"load {batch}", 120 / BATCHES, lambda batch=batch: self.load(batch), alone=shown))
            if shown:
                steps.append(Step(f"tail {batch}", 2, lambda batch=batch: self.tail(batch)))
        vacuum = Step("", 8, lambda: self.statement("VACUUM ANALYZE docs"), whole=False)
        steps.append(vacuum._replace(name="vacuum after filling"))
        steps.append(Step("churn: UPDATE", 8, lambda: self.statement(UPDATE)))
        steps.append(Step("churn: DELETE and INSERT", 8, lambda: self.statement(REPLACE)))
        steps.append(vacuum._replace(name="churn: VACUUM"))
        calls = {name: Step(name, 8, lambda name=name: self.call(name)) for name in CALLS}
        steps += [
            Step("truth", 30, self.truth),
            Step("no index", 0, lambda: self.statement("DROP INDEX docs_near")),
            calls.pop("pairs, without an index"),
            Step("index", 10, self.index, whole=False),
            *calls.values(),
            Step("lookups", 1, self.lookups, whole=False),
            Step("first refresh", 15, self.track),
            Step("vacuum of clusters", 5, lambda: clusters.vacuum(self.server), whole=False),
        ]
        for kind in clusters.KINDS:
            steps.append(Step(f"refresh: {kind}", 3, lambda kind=kind: self.refresh(kind), whole=False))
        return steps

    def ends(self, batch: int) -> tuple:
        """The first document of a batch, of its tail, and the one behind it."""
        first, last = (min(self.rows, number * self.batch) for number in (batch - 1, batch))
        return first, last - (last - first) // TAIL if batch in MILESTONES else last, last

    def copy(self, first: int, last: int) -> dict:
        with self.server.connection.cursor().copy("COPY docs FROM STDIN") as copy:
            lines = self.corpus.lines(first, last)
            while block := "".join(itertools.islice(lines, 500)):
                copy.write(block)
        return {"rows": last - first}

    def load(self, batch: int) -> dict:
        first, tail, _ = self.ends(batch)
        return self.copy(first, tail)

    def tail(self, batch: int) -> dict:
        _, tail, last = self.ends(batch)
        return self.copy(tail, last)

    def statement(self, sql: str) -> dict:
        return {"rows": self.server.run(sql).rowcount}

    def truth(self) -> dict:
        """The pairs of each group that are similar enough, by sets of Python: no code of minlsh."""
        self.server.run("CREATE TABLE truth (a bigint, b bigint)")
        with self.server.connection.cursor().copy("COPY truth FROM STDIN") as copy:
            for number in range(self.corpus.groups):
                sets = dict(zip(self.corpus.members(number), map(exact.shingles, self.corpus.group(number))))
                for pair in exact.similar_pairs(sets, THRESHOLD):
                    copy.write_row(sorted(pair))
        return {"pairs": self.server.value("SELECT count(*) FROM truth")}

    def index(self) -> dict:
        self.server.run("DROP INDEX IF EXISTS docs_near")
        self.server.run("CHECKPOINT")
        return self.timed(lambda: self.statement(index.Index.CREATE.format(table="docs")))

    def call(self, name: str) -> dict:
        call = CALLS[name].format(THRESHOLD)
        if "pairs" not in name:
            return {"rows": self.server.value(f"SELECT count(*) FROM {call}")}
        columns = "least(doc_a::bigint, doc_b::bigint) AS a, greatest(doc_a::bigint, doc_b::bigint) AS b"
        taken = self.timed(lambda: self.statement(f"CREATE TEMP TABLE found AS SELECT {columns} FROM {call}"))
        found = "SELECT count(*), count(t.a) FROM found LEFT JOIN truth AS t USING (a, b)"
        return {**taken, **dict(zip(("rows", "true"), self.server.rows(found)[0]))}

    def lookups(self) -> dict:
        """In each way those of other documents, twice: the first time, most pages are not in shared_buffers."""
        way, figures = index.Index(self.server), {}
        for number, (name, call) in enumerate(way.LOOKUP.items()):
            for turn in TURNS:
                found = way.lookups(call, self.rows, 1 + number * 10_000)
                figures |= {f"{name}, {turn}: {p}": value for p, value in found.items()}
        return figures

    def track(self) -> dict:
        self.server.run("SELECT minlsh_track_clusters('docs_near')")
        taken = self.timed(lambda: self.statement(clusters.REFRESH))
        return {**taken, "members": self.server.value("SELECT count(*) FROM docs_clusters")}

    def refresh(self, kind: str) -> dict:
        changes = min(CHANGES, self.rows // 10)
        change = clusters.KINDS[kind].format(step=self.rows // changes, changes=changes)
        return {"changes": changes, **clusters.refresh(self.server, change)}

    def timed(self, work: Callable) -> dict:
        """Seconds of the processor and of the clock, and bytes of WAL."""
        wal = "SELECT (pg_current_wal_insert_lsn() - '0/0')::bigint"
        written, processor, clock = self.server.value(wal), self.server.processor(), time.perf_counter()
        figures = work() or {}
        return {
            "processor": self.server.processor() - processor,
            "clock": time.perf_counter() - clock,
            "wal": self.server.value(wal) - written,
            **figures,
        }

    def full_pages(self, on: bool) -> None:
        self.server.run(f"ALTER SYSTEM {'SET full_page_writes = on' if on else 'RESET full_page_writes'}")
        self.server.run("SELECT pg_reload_conf()")
        if on:
            # From a checkpoint on, every page is written in full once. The checkpointer must know of the setting.
            time.sleep(1)
            self.server.run("CHECKPOINT")

    def do(self, step: Step) -> None:
        self.server.reconnect()
        self.full_pages(step.name.startswith("tail"))
        begun = "INSERT INTO bench.steps VALUES (%s, 1) ON CONFLICT (name) DO UPDATE SET begun = steps.begun + 1"
        self.server.run(begun, [step.name])
        start = time.perf_counter()
        with Peaks(self.server.pid, self.folder) as peaks:
            if step.whole:
                self.server.run("BEGIN")
            figures = self.timed(step.work)
        figures |= {"memory": peaks.memory, "temporary": peaks.temporary, "disk": peaks.disk}
        for name, size in {"table": "pg_table_size", "index": "pg_relation_size"}.items():
            relation = {"table": "docs", "index": "docs_near"}[name]
            figures[name] = self.server.value(f"SELECT {size}(to_regclass('{relation}'))")
        figures["all"] = (time.perf_counter() - start) / (1 if step.alone else SESSIONS)
        done = "UPDATE bench.steps SET figures = %s, commit = %s, machine = %s WHERE name = %s"
        self.server.run(done, [json.dumps(figures), commit(), machine(), step.name])
        if step.whole:
            self.server.run("COMMIT")

    def go(self) -> None:
        for alone, steps in itertools.groupby(self.steps(), lambda step: step.alone):
            names = [step.name for step in steps]
            if alone:
                for name in names:
                    self.go_on(name)
            else:
                with ThreadPoolExecutor(SESSIONS) as pool:
                    list(pool.map(self.beside, names))

    def beside(self, name: str) -> None:
        """Does a step in a session of its own."""
        server = copy.copy(self.server)
        server.connect()
        Run(self.rows, server, self.folder).go_on(name)
        server.connection.close()

    def go_on(self, name: str) -> None:
        """Does a step, unless it is done."""
        steps = self.steps()
        taken = "SELECT name, (figures->>'all')::float8 FROM bench.steps WHERE figures IS NOT NULL"
        done = dict(self.server.rows(taken))
        if name in done:
            return
        past = sum(each.weight for each in steps if each.name in done)
        ahead = sum(each.weight for each in steps if each.name not in done)
        left = ahead / past * sum(done.values()) if past else ahead * self.rows / 1e6
        number = next(number for number, each in enumerate(steps) if each.name == name)
        now = time.strftime("%H:%M:%S")
        note(f"{now} step {number + 1} of {len(steps)}: {name}; about {left / 60:,.0f} minutes left")
        self.do(steps[number])

    def figures(self) -> dict:
        rows = self.server.rows("SELECT name, begun, figures, commit, machine FROM bench.steps")
        return {
            "rows": self.rows,
            "batch": self.batch,
            "steps": {name: figures for name, _, figures, _, _ in rows},
            "begun again": sorted(name for name, begun, *_ in rows if begun > 1),
            "commits": sorted({row[3] for row in rows}),
            "machines": sorted({row[4] for row in rows}),
            "settings": {name: self.server.value(f"SHOW {name}") for name in SHOWN},
            "grouped": self.corpus.groups * self.corpus.MEMBERS,
        }


@contextmanager
def alone(folder: Path):
    """Fails if another run uses the folder."""
    with open(folder / "lock", "w", encoding="utf-8") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            sys.exit(f"another run uses {folder}")
        yield


def check_room(rows: int, folder: Path) -> None:
    taken = sum(size for _, size in files(folder))
    need, free = rows * BYTES_EACH + BYTES_ALWAYS, shutil.disk_usage(folder).free
    note(f"{rows:,} rows need {need / 1e9:,.1f} GB of disk in {folder}")
    note(f"it has {taken / 1e9:,.1f} GB, and {free / 1e9:,.1f} GB are free")
    if need > taken + free:
        sys.exit("too little disk: use fewer --rows, or a --folder elsewhere")


def measure(options) -> dict:
    if options.rows < 1000 * BATCHES:
        sys.exit(f"--rows must be at least {1000 * BATCHES:,}")
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    # Documents are made on a core beside that of the server, which has one process and no threads.
    os.sched_setaffinity(0, CORES)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") >> 20
    with alone(folder):
        check_room(options.rows, folder)
        with Server(SETTINGS.format(buffers=memory // 4, cache=memory // 4 * 3), folder) as server:
            run = Run(options.rows, server, folder)
            run.go()
            note(f"all steps are done; remove {folder} to measure them again")
            return run.figures()
