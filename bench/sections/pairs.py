"""From a table to its pairs, clusters and what to remove: minlsh beside rensa and datasketch."""

import json
import subprocess
import sys
from pathlib import Path

import corpus
from harness import THRESHOLD, Server, alternate, note

QUERY = "'SELECT id, body FROM docs'"
CALLS = {
    "scan": "SELECT count(body) FROM docs WHERE octet_length(body) > 0",
    "pairs": f"SELECT count(*) FROM near_duplicate_pairs('docs', {THRESHOLD})",
    "pairs of a query": f"SELECT count(*) FROM near_duplicate_pairs({QUERY}, {THRESHOLD})",
    "pairs by signature": f"SELECT count(*) FROM near_duplicate_pairs('docs', {THRESHOLD}, 'signature')",
    "clusters": f"SELECT count(*) FROM near_duplicate_clusters('docs', {THRESHOLD})",
    "plan": f"SELECT count(*) FROM near_duplicate_plan('docs', {THRESHOLD})",
}
PEERS = ("rensa", "datasketch", "datasketch, xxh32")


def peer(server: Server, name: str, limit: float, pairs_file=None, threshold=THRESHOLD) -> dict:
    """Its stages in seconds, their sum, and its pairs; nothing if it was not done at the limit."""
    bands, rows = server.rows(f"SELECT bands, rows FROM lsh_params({threshold}, recall => 0.99)")[0]
    program = Path(__file__).resolve().parents[1] / "peers.py"
    command = [sys.executable, program, name, server.address, "--threshold", threshold]
    command += ["--bands", bands, "--rows", rows, *(["--pairs", pairs_file] if pairs_file else [])]
    note(name)
    try:
        done = subprocess.run(list(map(str, command)), stdout=subprocess.PIPE, timeout=limit, check=True, text=True)
    except subprocess.TimeoutExpired:
        note(f"{name}: not done after {limit:.0f} s")
        return {}
    said = [json.loads(line) for line in done.stdout.splitlines()]
    stages = {f"{name}: {line['stage']}": line["seconds"] for line in said if "stage" in line}
    last = said[-1]
    return {**stages, name: sum(stages.values()), f"{name}: pairs": last["pairs"], f"{name}: memory": last["memory"]}


def indexed(server: Server) -> dict:
    """The same pairs and clusters where an index is there."""
    create = server.time("CREATE INDEX docs_body ON docs USING minlsh (body)")
    with_index = {f"{name} with the index": server.time(CALLS[name]) for name in ("pairs", "clusters")}
    server.run("DROP INDEX docs_body")
    return {"create": create, **with_index}


def memory_of(server: Server, call: str) -> int:
    """Bytes that a session takes for a call, above those of one that has loaded the library."""
    server.reconnect()
    server.value("SELECT minhash('x')")
    before = server.memory()
    server.value(call)
    return server.memory() - before


def measure(options) -> dict:
    found = {}
    for count in options.sizes:
        note(f"{count:,} documents: pairs")
        texts = corpus.write(options.directory / "docs.tsv", corpus.texts(count))
        with Server() as server:
            server.load("docs", texts)
            measures = {name: (lambda sql=sql: server.time(sql)) for name, sql in CALLS.items()}
            measures["with the index"] = lambda: indexed(server)
            if count <= options.peers_up_to:
                for name in PEERS:
                    measures[name] = lambda name=name: peer(server, name, options.limit)
            figures = alternate(options, measures, f"{count:,} documents")
            figures["found"] = server.value(CALLS["pairs"])
            figures["bytes"] = server.value("SELECT avg(octet_length(body))::float8 FROM docs")
            figures["memory"] = {name: memory_of(server, CALLS[name]) for name in ("pairs", "clusters", "plan")}
            found[str(count)] = figures
    return found
