"""From a text to its signature: the engine beside datasketch and rensa, and minhash() beside md5() in SQL."""

import subprocess

import corpus
import numpy
import xxhash
from datasketch import MinHash
from exact import SHINGLE
from harness import NUM_PERM, ROOT, Server, alternate, note, seconds
from rensa import RMinHash

SEED = 42
DOCUMENTS = 2000
SIZE = 1000
FEW = 200  # documents a round for datasketch, a thousand times slower than the rest
PROGRAM = ROOT / "build" / "target" / "bench" / "release" / "examples" / "throughput"


def peers(texts: list) -> dict:
    """Name -> function that returns seconds per document."""
    few = [[text[i : i + SHINGLE].encode() for i in range(SIZE - SHINGLE + 1)] for text in texts[:FEW]]
    shingles = [[text[i : i + SHINGLE] for i in range(SIZE - SHINGLE + 1)] for text in texts]
    hashes = numpy.array([xxhash.xxh3_64_intdigest(s.encode()) for each in shingles for s in each], dtype=numpy.uint64)
    offsets = numpy.cumsum([0] + [len(each) for each in shingles]).astype(numpy.uint64)

    def datasketch_text():
        for text in texts[:FEW]:
            sketch = MinHash(num_perm=NUM_PERM)
            sketch.update_batch([text[i : i + SHINGLE].encode() for i in range(SIZE - SHINGLE + 1)])

    def datasketch_shingles():
        # The fastest hash it can be given: a C function of 32 bits, no Python between.
        MinHash.bulk(few, num_perm=NUM_PERM, hashfunc=xxhash.xxh32_intdigest)

    def rensa_text():
        for text in texts:
            sketch = RMinHash(num_perm=NUM_PERM, seed=SEED)
            sketch.update([text[i : i + SHINGLE] for i in range(SIZE - SHINGLE + 1)])

    def per_document(work, documents=DOCUMENTS):
        return lambda: seconds(work) / documents

    return {
        "datasketch: text": per_document(datasketch_text, FEW),
        "datasketch: shingles, xxh32, one call for all": per_document(datasketch_shingles, FEW),
        "rensa: text": per_document(rensa_text),
        "rensa: shingles, one call for all": per_document(
            lambda: RMinHash.digest_matrix_from_token_sets(shingles, NUM_PERM, SEED)
        ),
        "rensa: hashes of shingles, one call for all": per_document(
            lambda: RMinHash.digest_matrix_from_flat_token_hashes(hashes, offsets, NUM_PERM, SEED)
        ),
    }


def minlsh(file) -> dict:
    """The engine's own example prints: name <tab> ns per document <tab> bytes per document."""
    output = subprocess.run([PROGRAM, file], check=True, capture_output=True, text=True).stdout
    rows = [line.split("\t") for line in output.splitlines() if line.count("\t") >= 2]
    return {f"minlsh: {row[0]}": float(row[1]) / 1e9 for row in rows}


def in_sql(options) -> dict:
    expressions = {
        "minhash(body)": "minhash(body)",
        "minhash(body, normalization => 'none')": "minhash(body, normalization => 'none')",
        "md5(body)": "md5(body)",
    }
    texts = corpus.write(options.directory / "functions.tsv", corpus.texts(10 * DOCUMENTS, 1500, 0.08))
    with Server() as server:
        rows = server.load("docs", texts)
        measures = {
            name: (lambda each=each: server.time(f"SELECT count({each}) FROM docs") / rows)
            for name, each in expressions.items()
        }
        for measure_once in measures.values():
            measure_once()  # warms
        return alternate(options, measures)


def measure(options) -> dict:
    note("engine")
    # A little longer than needed, then cut: all texts of one size.
    texts = [text[:SIZE] for text in corpus.texts(DOCUMENTS, SIZE + 200, 0)]
    file = options.directory / "texts.nul"
    file.write_text("".join(f"{text}\0" for text in texts), encoding="utf-8")
    figures = alternate(options, {**peers(texts), "minlsh": lambda: minlsh(file)})
    return {"signatures": figures, "functions": in_sql(options)}
