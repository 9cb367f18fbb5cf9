"""What the programs of the tools share: `PROGRAM first|second ADDRESS FOLDER`.

The first step is about the table docs (id, body). The second is about the table more, whose rows came later. What the
tool keeps goes into the folder, and so do the clusters that it found: a line of id <tab> cluster for each document
that is not alone. Documents are sets of three words in a row, and near from a similarity of 0.9 on.
"""

import sys
from pathlib import Path

import psycopg

STEP, ADDRESS, FOLDER = sys.argv[1], sys.argv[2], Path(sys.argv[3])
THRESHOLD, WORDS = 0.9, 3
# Bands and rows for a recall of 0.99 at the threshold, as minlsh chooses them.
BANDS, ROWS = 12, 10


def table(name: str) -> tuple:
    """The ids and the texts of a table."""
    with psycopg.connect(ADDRESS) as connection:
        return tuple(zip(*connection.execute(f"SELECT id, body FROM {name} ORDER BY id").fetchall()))


def documents() -> tuple:
    """Those that are new in this step."""
    return table("docs" if STEP == "first" else "more")


def shingles(text: str) -> list:
    words = text.split()
    return [" ".join(words[i : i + WORDS]) for i in range(max(1, len(words) - WORDS + 1))]


def write(clusters) -> None:
    with open(FOLDER / "clusters", "w" if STEP == "first" else "a", encoding="utf-8") as file:
        file.writelines(f"{key}\t{cluster}\n" for key, cluster in clusters)
