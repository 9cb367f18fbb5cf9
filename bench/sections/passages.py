"""Passages: two texts, searches and jobs, beside difflib, a suffix array and LIKE with pg_trgm."""

import difflib

import corpus
import pydivsufsort
from harness import Server, alternate, note, seconds
from sections.index import LOOKUPS

MIN_MATCH = 50
# The jobs read so many files; searches are in all of them.
FEW = 3000
# The two texts: of so many characters, half of them in common.
LARGE = 10_000_000
SMALL = 20_000
# A passage of 500 characters out of the middle of a file, and the files that have it.
QUOTE = "(SELECT substr(body, length(body) / 2, 500) AS quote FROM files WHERE id = number) AS quotes"
# What LIKE takes for patterns, escaped.
ESCAPE = r"'([%_\\])', '\\\1', 'g'"
SEARCHES = {
    "minlsh": f"id FROM {QUOTE} JOIN files ON body ~> minlsh_passage(quote, 1)",
    "pg_trgm": f"id FROM {QUOTE} JOIN files ON body LIKE '%' || regexp_replace(quote, {ESCAPE}) || '%'",
}
INDEXES = {
    "minlsh": "CREATE INDEX files_minlsh ON files USING minlsh (body minlsh_passage_ops)",
    "pg_trgm": "CREATE INDEX files_pg_trgm ON files USING gin (body gin_trgm_ops)",
}
ROWS = ("md5(body)", "passage_hashes(body)")
CALLS = {"minlsh": 1000, "pg_trgm": 50}
JOBS = {
    "near_duplicate_pairs": "near_duplicate_pairs('few', 0.9)",
    "common_passages": "common_passages('few', 100)",
    "strip_passages": "strip_passages('few', 100)",
    "repeated_passages": "repeated_passages('few', 50)",
    "contained_documents, whole": "contained_documents('few', 1)",
    "contained_documents, 0.9": "contained_documents('few', 0.9)",
}


def two_texts(server: Server, documents: list) -> tuple:
    """Two large texts of real files: the second half of one is the first of the other."""
    text = "\n".join(documents)
    while len(text) < 2 * LARGE:
        text += text
    half = LARGE // 2
    a, b = text[: 2 * half], text[half : 3 * half]
    server.run("CREATE TABLE two AS SELECT %s::text AS a, %s::text AS b", (a, b))
    return a, b


def suffix_array(a: str, b: str) -> None:
    """What any answer by a suffix array takes at least: the array and the lengths of common prefixes."""
    joined = (a + "\0" + b).encode()
    pydivsufsort.kasai(joined, pydivsufsort.divsufsort(joined))


def measured_two(options, server: Server, documents: list) -> dict:
    a, b = two_texts(server, documents)
    small = (a[:SMALL], a[SMALL // 2 : SMALL * 3 // 2])
    server.run("CREATE TABLE small AS SELECT %s::text AS a, %s::text AS b", small)
    count = f"SELECT count(*) FROM {{0}}, shared_passages(a, b, {MIN_MATCH})"
    matcher = difflib.SequenceMatcher(None, *small, autojunk=False)
    return alternate(
        options,
        {
            "large: md5": lambda: server.time("SELECT md5(a), md5(b) FROM two"),
            "large: minlsh": lambda: server.time(count.format("two")),
            "large: suffix array": lambda: seconds(lambda: suffix_array(a, b)),
            "small: minlsh": lambda: server.time(count.format("small")),
            "small: difflib": lambda: seconds(
                difflib.SequenceMatcher(None, *small, autojunk=False).get_matching_blocks
            ),
        },
    ) | {"small: blocks": len(matcher.get_matching_blocks()) - 1}


def searches(server: Server, name: str, rows: int) -> dict:
    """Percentiles of a search, which is made to use its index."""
    other = next(each for each in INDEXES if each != name)
    server.run("BEGIN")
    server.run(f"DROP INDEX files_{other}")
    server.run("SET LOCAL enable_seqscan = off")
    for calls in (CALLS[name] // 10, CALLS[name]):  # the first warm
        server.run(LOOKUPS.format(call=SEARCHES[name], rows=rows, first=1, last=calls))
    found = {f"{name}: {p}": float(server.value(f"SELECT current_setting('bench.{p}')")) for p in ("p50", "p95")}
    server.run("ROLLBACK")
    return found


def recreated(server: Server, name: str) -> float:
    """Seconds to create an index, which is there afterwards."""
    server.run(f"DROP INDEX IF EXISTS files_{name}")
    return server.time(INDEXES[name])


def measure(options) -> dict:
    note("passages")
    documents = list(corpus.real_files(options.files))
    with Server() as server:
        server.run("CREATE EXTENSION pg_trgm")
        figures = measured_two(options, server, documents)
        rows = server.load("files", corpus.write(options.directory / "files.tsv", documents))
        if not rows:
            return {}
        figures |= alternate(
            options,
            {call: lambda call=call: server.time(f"SELECT count({call}) FROM files") for call in ROWS},
        )
        figures |= alternate(
            options, {f"{name}: create": (lambda name=name: recreated(server, name)) for name in INDEXES}
        )
        for name in INDEXES:
            figures[f"{name}: size"] = server.value(f"SELECT pg_relation_size('files_{name}')")
        note("searches for passages")
        measures = {name: (lambda name=name: searches(server, name, rows)) for name in INDEXES}
        figures |= alternate(options, measures)
        server.run("DROP INDEX files_minlsh, files_pg_trgm")
        server.run(INDEXES["minlsh"] + " WITH (min_match = 200)")
        figures["minlsh, 200: size"] = server.value("SELECT pg_relation_size('files_minlsh')")
        server.run(f"CREATE TABLE few AS SELECT * FROM files WHERE id <= {FEW}")
        server.run("ALTER TABLE few ADD PRIMARY KEY (id)")
        note("jobs of passages")
        jobs = {
            f"job: {name}": (lambda call=call: server.time(f"SELECT count(*) FROM {call}"))
            for name, call in JOBS.items()
        }
        figures |= alternate(options, jobs)
        figures |= {"documents": rows, "few": server.value("SELECT count(*) FROM few")}
        figures["bytes"] = server.value("SELECT sum(octet_length(body))::float8 FROM files")
    return figures
