"""Lance: a dataset of the texts with a MinHash LSH index, and a search for each document."""

import sys

from common import FOLDER, STEP, THRESHOLD, WORDS, documents, write

# This file has the library's name.
sys.path.pop(0)
import lance  # noqa: E402
import pyarrow  # noqa: E402
from lance.query import MinHashQuery  # noqa: E402

# As many as divide its 128 hashes, and reach the recall of the others.
HASHES, BANDS = 128, 16
NEAREST = 10


def main() -> None:
    folder = str(FOLDER / "dataset")
    keys, texts = documents()
    rows = pyarrow.table({"id": keys, "text": texts})
    if STEP == "first":
        dataset = lance.write_dataset(rows, folder)
        dataset.create_scalar_index("text", "MINHASHLSH", num_hashes=HASHES, num_bands=BANDS, shingle_size=WORDS)
    else:
        lance.write_dataset(rows, folder, mode="append").optimize.optimize_indices()
    dataset = lance.dataset(folder)

    def near(key, text):
        found = dataset.scanner(columns=["id", "_distance"], nearest=MinHashQuery(text, "text"), limit=NEAREST)
        for row in found.to_table().to_pylist():
            if row["_distance"] <= 1 - THRESHOLD + 1e-6 and row["id"] != key:
                yield row["id"]

    # A pair is a cluster of two; who reads the file joins those that share a document.
    pairs = ((key, other) for key, text in zip(keys, texts) for other in near(key, text))
    write(line for key, other in pairs for line in ((key, f"{key}-{other}"), (other, f"{key}-{other}")))


if __name__ == "__main__":
    main()
