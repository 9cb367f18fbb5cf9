"""The most memory that one session takes: for a statement of many short rows, for a call about a whole corpus, and for
a call about long texts.

Each runs in a session of its own. A statement is compared with the same on a table without an index, a call with a
session that has loaded the library alone. More than 64 MB for a statement, than maintenance_work_mem and 16 bytes a
document for a call, or than docs/guarantees.md says of long texts, is a fault: bench/run.sh then fails.
"""

from harness import Server, note

SETTINGS = "shared_buffers = 16MB"
ALLOWED = 64 << 20
PER_DOCUMENT = 16
SHORT = "SELECT i, 'a short text, number ' || i FROM generate_series(1, {rows}) AS i"
STATEMENTS = {
    "INSERT": "INSERT INTO docs " + SHORT,
    "UPDATE": "UPDATE docs SET body = body || '!'",
    "DELETE": "DELETE FROM docs",
}
KINDS = {
    "no index": "SELECT",
    "side table": "SELECT minlsh_create_side_table('docs', 'body')",
    "index": "CREATE INDEX docs_near ON docs USING minlsh (body)",
}
# Four to a template, one of them a copy of another, so that none is alone: the worst case.
TEMPLATES = """
CREATE TABLE docs AS SELECT i AS id, md5((i / 4)::text) || ' ' || md5('x' || i / 4) || ' ' || i % 3 AS body
FROM generate_series(1, {rows}::bigint) AS i
"""
# Texts of which all words differ, and one of them with another word, that PostgreSQL does not compress.
LONG = """
CREATE TABLE texts (id integer PRIMARY KEY, body text);
ALTER TABLE texts ALTER body SET STORAGE external;
INSERT INTO texts SELECT i, body || ' ' || i
FROM (SELECT string_agg(md5(i::text), ' ') AS body FROM generate_series(1, {bytes} / 33) AS i) AS made,
    generate_series(1, {texts}) AS i
"""
# Number of texts, and MB of each.
SHAPES = ((2, 20), (2, 66), (100, 5))
# What a call takes beside maintenance_work_mem: this, and so many bytes for each of the longest text.
CONSTANT = 24 << 20
MULTIPLES = {"jaccard": 12, "pairs": 16, "clusters": 16, "plan": 16}
SOURCES = {"no index": "SELECT id, body FROM docs", "side table": "docs_minlsh", "index": "docs_near"}


def peak(server: Server, statement: str) -> int:
    server.reconnect()
    server.run(statement)
    return server.memory()


def statements(server: Server, rows: int) -> dict:
    found = {}
    for name, statement in STATEMENTS.items():
        note(f"memory: {name} of {rows:,} rows")
        found[name] = {}
        for kind, create in KINDS.items():
            server.run("DROP TABLE IF EXISTS docs")
            server.run("CREATE TABLE docs (id bigint PRIMARY KEY, body text)")
            if name != "INSERT":
                server.run(STATEMENTS["INSERT"].format(rows=rows))
            server.run(create)
            found[name][kind] = peak(server, statement.format(rows=rows))
        allowed = found[name]["no index"] + ALLOWED
        found[name]["kept"] = max(found[name].values()) <= allowed
    return found


def calls(server: Server, rows: int) -> dict:
    found = {}
    note(f"memory: calls about {rows:,} documents")
    server.run("DROP TABLE IF EXISTS docs")
    server.run(TEMPLATES.format(rows=rows))
    server.run("ALTER TABLE docs ADD PRIMARY KEY (id)")
    server.run(KINDS["side table"])
    server.run(KINDS["index"])
    floor = peak(server, "SELECT minhash('x')")
    for name in ("pairs", "clusters", "plan"):
        call = f"SELECT count(*) FROM near_duplicate_{name}('{{}}')"
        found[name] = {kind: peak(server, call.format(source)) - floor for kind, source in SOURCES.items()}
        found[name]["kept"] = max(found[name].values()) <= ALLOWED + PER_DOCUMENT * rows
    return found


def long_texts(server: Server, texts: int, size: int) -> dict:
    note(f"memory: {texts} texts of {size} MB")
    longest = size << 20
    server.run("DROP TABLE IF EXISTS texts")
    server.run(LONG.format(texts=texts, bytes=longest))
    floor = peak(server, "SELECT minhash('x')")
    found = {}
    for name, multiple in MULTIPLES.items():
        statement = f"SELECT count(*) FROM near_duplicate_{name}('texts')"
        if name == "jaccard":
            statement = "SELECT jaccard(a.body, b.body) FROM texts AS a, texts AS b WHERE a.id = 1 AND b.id = 2"
        taken = peak(server, statement) - floor
        setting = 0 if name == "jaccard" else ALLOWED
        found[name] = {"taken": taken, "multiple": (taken - setting) / longest}
        found[name]["kept"] = taken <= setting + CONSTANT + multiple * longest
    return found


def measure(options) -> dict:
    sizes = [count for count in options.sizes if count <= options.memory_up_to] or options.sizes[:1]
    with Server(settings=SETTINGS) as server:
        return {
            "allowed": ALLOWED,
            "per document": PER_DOCUMENT,
            "rows": max(sizes),
            "statements": statements(server, max(sizes)),
            "calls": {str(count): calls(server, count) for count in sizes},
            "long": {f"{texts} of {size} MB": long_texts(server, texts, size) for texts, size in SHAPES},
        }
