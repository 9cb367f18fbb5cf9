"""Which of the true pairs are found, and what else: minlsh, rensa and datasketch against exact.py, which counts the
pairs from Python's sets and shares no code with minlsh."""

import corpus
import exact
from harness import THRESHOLD, Server, note
from sections.pairs import PEERS, peer

CLUSTERED, CHANGED = 0.6, 0.05


def against(truth: dict, found: set) -> dict:
    """Counts, also of the hardest: true pairs less than 0.02 above the threshold."""
    true = exact.common(set(truth), found)
    hard = {pair for pair, similarity in truth.items() if similarity < THRESHOLD + 0.02}
    return {"found": len(found), "true": len(true), "hard": len(true & hard), "all hard": len(hard)}


def ours(server: Server, source: str, verify: str = "exact") -> set:
    call = f"near_duplicate_pairs('{source}', {THRESHOLD}, '{verify}')"
    return set(server.rows(f"SELECT doc_a::bigint, doc_b::bigint FROM {call}"))


def measure(options) -> dict:
    note(f"recall: counting the exact pairs of {options.recall:,} documents")
    texts = list(corpus.texts(options.recall, seed=3, clustered=CLUSTERED, changed=CHANGED))
    sets = {key: exact.shingles(text) for key, text in enumerate(texts, 1)}
    truth = exact.similar_pairs(sets, THRESHOLD)
    file = corpus.write(options.directory / "docs.tsv", texts)
    ways = {}
    with Server() as server:
        server.load("docs", file)
        ways["minlsh"] = against(truth, ours(server, "docs"))
        ways["minlsh, by signature"] = against(truth, ours(server, "docs", "signature"))
        server.run("CREATE INDEX docs_near ON docs USING minlsh (body)")
        ways["minlsh, with the index"] = against(truth, ours(server, "docs_near"))
        server.run("SELECT minlsh_create_side_table('docs', 'body')")
        ways["side table, by signature"] = against(truth, ours(server, "docs_minlsh", "signature"))
        bytes_each = server.value("SELECT pg_total_relation_size('docs_minlsh')") / len(texts)
        server.run("SELECT minlsh_drop_side_table('docs_minlsh')")
        for name in PEERS:
            pairs_file = options.directory / "pairs"
            if peer(server, name, options.limit, pairs_file):
                lines = pairs_file.read_text(encoding="utf-8").splitlines()
                ways[name] = against(truth, {tuple(sorted(map(int, line.split()))) for line in lines})
    return {"documents": len(texts), "pairs": len(truth), "ways": ways, "side table": bytes_each}
