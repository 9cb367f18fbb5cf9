"""text-dedup: its MinHash command over a dataset on disk. It keeps nothing, so the second step is about all rows."""

import pickle
import shutil
import subprocess
import sys

from common import BANDS, FOLDER, ROWS, STEP, THRESHOLD, WORDS, table, write
from datasets import Dataset


def main() -> None:
    keys, texts = table("docs")
    if STEP == "second":
        later = table("more")
        keys, texts = keys + later[0], texts + later[1]
    shutil.rmtree(FOLDER / "output", ignore_errors=True)
    Dataset.from_dict({"id": keys, "text": texts}).save_to_disk(str(FOLDER / "dataset"))
    command = [sys.executable, "-m", "text_dedup.minhash", "--local", "--path", FOLDER / "dataset"]
    command += ["--output", FOLDER / "output", "--cache_dir", FOLDER / "cache", "--column", "text"]
    command += ["--idx_column", "id", "--ngram", WORDS, "--threshold", THRESHOLD, "--num_perm", BANDS * ROWS]
    command += ["--b", BANDS, "--r", ROWS, "--hash_func", "xxh3", "--num_proc", 1, "--debug"]
    subprocess.run(list(map(str, command)), check=True, stdout=subprocess.DEVNULL)
    with open(FOLDER / "output" / "uf.pkl", "rb") as file:
        found = pickle.load(file)
    write((key, found.find(key)) for key in found.parent)


if __name__ == "__main__":
    main()
