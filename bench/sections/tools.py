"""Whole tools for near-duplicates beside minlsh, on one table: all its rows, and then as many as a hundredth more.

Every tool says which documents belong together, at 0.9, by sets of three words in a row, but for incrededup, which
always takes three characters. Its program is in bench/tools, and its packages are pinned there. The true pairs are
counted by bench/exact.py, from the same kind of sets, within each group that was made to be near: documents of
different groups share too little.
"""

import os
import shutil
import socket
import subprocess
from collections import defaultdict
from pathlib import Path

import corpus
import exact
from harness import ROOT, THRESHOLD, Server, note
from sections.scale import files

LATER = 100  # one row in so many comes later
INCREDEDUP = "0.3.1"
PROGRAMS = ROOT / "bench" / "tools"
STEPS = {"first": "docs", "second": "more"}
SIZE = 3  # of a shingle


def windows(items) -> frozenset:
    return frozenset(tuple(items[i : i + SIZE]) for i in range(max(1, len(items) - SIZE + 1)))


# By what documents are compared.
UNITS = {"word": lambda text: windows(text.split()), "char": windows}


class Groups:
    """Documents that belong together, by what was said of some of them."""

    def __init__(self):
        self.of = {}

    def find(self, key):
        while (parent := self.of.setdefault(key, key)) != key:
            self.of[key] = self.of[parent]
            key = parent
        return key

    def join(self, a, b):
        self.of[self.find(a)] = self.find(b)

    def pairs(self) -> set:
        """The pairs of documents, which are numbers, in one group."""
        members = defaultdict(list)
        for key in list(self.of):
            if isinstance(key, int):
                members[self.find(key)].append(key)
        return {(a, b) for each in members.values() for a in each for b in each if a < b}


def truth(numbered: corpus.Numbered, unit: str) -> set:
    """The pairs within groups of documents that are near, and of those that such pairs join."""
    near = Groups()
    for number in range(numbered.groups):
        sets = map(UNITS[unit], numbered.group(number))
        for a, b in exact.similar_pairs(dict(zip(numbered.members(number), sets)), THRESHOLD):
            near.join(a, b)
    return near.pairs()


class Minlsh:
    """The index and tracked clusters, which it keeps."""

    def __init__(self, unit: str, server: Server):
        self.server = server
        self.options = f"unit = '{unit}', shingle_size = {SIZE}, threshold = {THRESHOLD}"

    def step(self, name: str) -> dict:
        if name == "first":
            sql = f"CREATE INDEX docs_near ON docs USING minlsh (body) WITH ({self.options});"
            sql += "SELECT minlsh_track_clusters('docs_near');"
        else:
            sql = "INSERT INTO docs SELECT * FROM more;"
        sql += "SELECT minlsh_refresh_clusters('docs_clusters')"
        return self.server.beside(["psql", "-X", "-q", "-d", self.server.address, "-c", sql], stdout=subprocess.DEVNULL)

    def disk(self) -> int:
        tables = ("docs_clusters", "docs_clusters_list", "docs_clusters_log", "docs_clusters_queue")
        sizes = [f"pg_total_relation_size('{table}')" for table in tables]
        return self.server.value(f"SELECT pg_relation_size('docs_near') + {' + '.join(sizes)}")

    def found(self) -> list:
        return self.server.rows("SELECT doc_id::bigint, cluster_id::text FROM docs_clusters")

    def remove(self) -> None:
        self.server.run("DELETE FROM docs USING more WHERE docs.id = more.id")
        self.server.run("SELECT minlsh_untrack_clusters('docs_clusters')")
        self.server.run("DROP INDEX docs_near")


class Missing(Exception):
    """A tool that could not be had or did not run, and why."""


class Program:
    """A program in bench/tools, in a Python of its own."""

    def __init__(self, name: str, server: Server, folder: Path):
        self.name, self.server, self.folder = name, server, folder / name
        self.folder.mkdir()
        requirements = PROGRAMS / f"{name}.txt"
        try:
            made = subprocess.check_output(["scripts/venv.sh", f"bench-{name}", requirements], cwd=ROOT, text=True)
        except subprocess.CalledProcessError:
            raise Missing("its packages could not be installed") from None
        self.python = made.strip()

    def step(self, name: str) -> dict:
        command = [self.python, PROGRAMS / f"{self.name}.py", name, self.server.address, self.folder]
        file = self.folder / "log"
        try:
            with open(file, "w", encoding="utf-8") as log:
                return self.server.beside(command, stdout=log, stderr=log, cwd=self.folder)
        except subprocess.CalledProcessError:
            last = file.read_text(encoding="utf-8").strip().rpartition("\n")[2]
            raise Missing(f"its {name} step ended with: {last}") from None

    def disk(self) -> int:
        return sum(size for path, size in files(self.folder) if not path.endswith(("/clusters", "/log")))

    def found(self) -> list:
        lines = (self.folder / "clusters").read_text(encoding="utf-8").splitlines()
        return [(int(key), cluster) for key, cluster in (line.split("\t") for line in lines)]

    def remove(self) -> None:
        shutil.rmtree(self.folder)


class DedupPg(Program):
    """Keeps its bands in the server."""

    def disk(self) -> int:
        return super().disk() + self.server.value("SELECT pg_total_relation_size('dedup_index')")


class Incrededup:
    """A program of its own that reads and writes tables of names of its own; they are made before the clock starts."""

    ID = "lpad(to_hex(id), 32, '0')::uuid"

    def __init__(self, server: Server, folder: Path):
        self.server, self.folder = server, folder / "incrededup"
        root = ROOT / "build" / "bench-incrededup"
        self.program = root / "bin" / "incrededup"
        if not self.program.exists():
            note(f"incrededup {INCREDEDUP} is compiled")
            command = ["scripts/cargo.sh", "install", "incrededup", "--version", INCREDEDUP, "--locked", "--quiet"]
            if subprocess.run([*command, "--root", root], cwd=ROOT).returncode:
                raise Missing("it could not be compiled")
        server.run(
            "CREATE TABLE documents (id uuid PRIMARY KEY, content text NOT NULL, content_len integer, filename text, "
            "is_parent boolean); CREATE TABLE dupes (child_id uuid PRIMARY KEY, parent_id uuid NOT NULL, "
            "jaccard_similarity float8 NOT NULL, size_difference integer, size_difference_pct float8)"
        )

    def step(self, name: str) -> dict:
        self.server.run(f"INSERT INTO documents SELECT {self.ID}, body, length(body) FROM {STEPS[name]}")
        self.server.run("VACUUM ANALYZE documents")
        command = [self.program, "--postgres", "--data-dir", self.folder, "--threshold", THRESHOLD]
        command += ["--min-content-len", 1, "--workers", 1]
        address = f"postgresql://postgres:@127.0.0.1:{self.server.port}/postgres"
        return self.server.beside(command, stdout=subprocess.DEVNULL, env={**os.environ, "DATABASE_URL": address})

    def disk(self) -> int:
        tables = self.server.value("SELECT pg_total_relation_size('dupes')")
        return tables + sum(size for _, size in files(self.folder))

    def found(self) -> list:
        number = "('x' || right(replace({}::text, '-', ''), 16))::bit(64)::bigint"
        pair = f"{number.format('child_id')}, {number.format('parent_id')}"
        pairs = self.server.rows(f"SELECT {pair} FROM dupes")
        return [(key, f"of {parent}") for child, parent in pairs for key in (child, parent)]

    def remove(self) -> None:
        self.server.run("DROP TABLE documents, dupes")
        shutil.rmtree(self.folder)


# By which unit each compares, and how it is made ready.
WAYS = {
    "minlsh": ("word", lambda server, folder: Minlsh("word", server)),
    "dedup-pg": ("word", lambda *where: DedupPg("dedup-pg", *where)),
    "lance": ("word", lambda *where: Program("lance", *where)),
    "text-dedup": ("word", lambda *where: Program("text-dedup", *where)),
    "datatrove": ("word", lambda *where: Program("datatrove", *where)),
    "minlsh, by characters": ("char", lambda server, folder: Minlsh("char", server)),
    "incrededup": ("char", Incrededup),
}


def measured(way, rows: dict, true: dict) -> dict:
    """Each step, what the tool keeps, and which pairs of documents it puts together."""
    found = {}
    for name in STEPS:
        for key, value in way.step(name).items():
            found[f"{name}: {key}"] = value
        together = Groups()
        for key, cluster in way.found():
            together.join(key, cluster)
        pairs = together.pairs()
        found[f"{name}: disk"] = way.disk() / rows[name]
        found[f"{name}: recall"] = len(pairs & true[name]) / len(true[name])
        found[f"{name}: wrong"] = len(pairs - true[name])
    return found


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def measure(options) -> dict:
    count = min(options.peers_up_to, max(options.sizes))
    rows = {"first": count, "second": count + count // LATER}
    numbered = corpus.Numbered(rows["second"])
    found, missing, truths = {}, {}, {}
    # incrededup has no way to a socket of Unix.
    with Server("listen_addresses = '127.0.0.1'", port=free_port()) as server:
        texts = options.directory / "docs.tsv"
        for table, (first, last) in zip(STEPS.values(), ((0, count), (count, rows["second"]))):
            with open(texts, "w", encoding="utf-8") as file:
                file.writelines(numbered.lines(first, last))
            server.load(table, texts)
        for unit in UNITS:
            pairs = truth(numbered, unit)
            truths[unit] = {"first": {pair for pair in pairs if max(pair) <= count}, "second": pairs}
        for name, (unit, make) in WAYS.items():
            note(f"{rows['second']:,} documents: {name}")
            try:
                way = make(server, options.directory)
                found[name] = measured(way, rows, truths[unit])
                way.remove()
            except Missing as reason:
                missing[name] = str(reason)
                note(f"{name}: {reason}")
    pairs = {unit: len(true["second"]) for unit, true in truths.items()}
    return {"rows": rows, "ways": found, "missing": missing, "pairs": pairs}
