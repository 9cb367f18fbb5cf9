"""Which documents have a near-duplicate, which is what rensa's fastest calls and datasketch's Bloom filters answer:
what they take, from texts and from token sets that are there already, and which of the true ones they find."""

import math
import warnings

import corpus
import exact
from datasketch import MinHash, MinHashLSHBloom
from harness import NUM_PERM, THRESHOLD, Server, alternate, note, seconds
from rensa import RMinHash, RMinHashLSH
from sections.recall import CHANGED, CLUSTERED

SEED = 42
BANDS = 16  # rensa's must divide the slots; 16 reach the recall of ours


def cut(text: str) -> list:
    return [text[i : i + exact.SHINGLE] for i in range(max(1, len(text) - exact.SHINGLE + 1))]


def rho(sets: list) -> set:
    matrix = RMinHash.digest_matrix_from_token_sets_rho(sets, NUM_PERM, SEED)
    flags = RMinHashLSH(THRESHOLD, NUM_PERM, BANDS).query_duplicate_flags_matrix_one_shot(matrix)
    return {key for key, flag in enumerate(flags, 1) if flag}


def full(sets: list) -> set:
    matrix = RMinHash.digest_matrix_from_token_sets(sets, NUM_PERM, SEED)
    flags = RMinHashLSH(THRESHOLD, NUM_PERM, BANDS).query_duplicate_flags_matrix_one_shot(matrix)
    return {key for key, flag in enumerate(flags, 1) if flag}


def bloom(sets: list, params) -> set:
    with warnings.catch_warnings():
        # That the filters are in memory alone.
        warnings.simplefilter("ignore")
        index = MinHashLSHBloom(THRESHOLD, NUM_PERM, n=len(sets), fp=1e-5, params=params)
    flagged = set()
    for key, sketch in enumerate(MinHash.bulk(sets, num_perm=NUM_PERM), 1):
        if index.query(sketch):
            flagged.add(key)
        index.insert(sketch)
    return flagged


def measure(options) -> dict:
    note(f"flags: counting the exact pairs of {options.recall:,} documents")
    texts = list(corpus.texts(options.recall, seed=3, clustered=CLUSTERED, changed=CHANGED))
    sets = {key: exact.shingles(text) for key, text in enumerate(texts, 1)}
    pairs = exact.similar_pairs(sets, THRESHOLD)
    # A Bloom filter sees earlier documents alone.
    truths = {"another": {key for pair in pairs for key in pair}, "an earlier one": {max(pair) for pair in pairs}}
    tokens = [cut(text) for text in texts]
    encoded = [{token.encode() for token in each} for each in tokens]
    found = {}

    def flagging(name: str, work):
        def once():
            found[name] = work()

        return lambda: seconds(once)

    with Server() as server:
        server.load("docs", corpus.write(options.directory / "docs.tsv", texts))
        params = server.rows(f"SELECT bands, rows FROM lsh_params({THRESHOLD}, recall => 0.99)")[0]
        call = f"SELECT doc_id::bigint FROM near_duplicate_clusters('docs', {THRESHOLD})"
        found["minlsh, from the table, verified"] = {key for (key,) in server.rows(call)}
        call = call.replace("doc_id::bigint", "count(*)")
        figures = alternate(options, {
            "minlsh, from the table, verified": lambda: server.time(call),
            "rensa rho, from texts": flagging("rensa rho, from texts", lambda: rho(list(map(cut, texts)))),
            "rensa rho, from token sets": flagging("rensa rho, from token sets", lambda: rho(tokens)),
            "rensa, all slots, from token sets": flagging("rensa, all slots, from token sets", lambda: full(tokens)),
            "datasketch LSHBloom, from token sets": flagging(
                "datasketch LSHBloom, from token sets", lambda: bloom(encoded, params)
            ),
        })  # fmt: skip
    ways = {}
    for name, taken in figures.items():
        asked = "an earlier one" if "Bloom" in name else "another"
        true = len(exact.common(truths[asked], found[name]))
        ways[name] = {
            "seconds": taken / len(texts),
            "asked": asked,
            "recall": true / len(truths[asked]),
            "precision": true / max(1, len(found[name])) if found[name] else math.nan,
        }
    bytes_each = sum(len(text.encode()) for text in texts) / len(texts)
    return {"documents": len(texts), "bytes": bytes_each, "ways": ways}
