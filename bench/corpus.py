"""A corpus with known near-duplicates, the same for the same arguments.

Words follow Zipf's law over 50,000 words made of letters as frequent as in
English, lengths are log-normal. 30 % of the documents belong to clusters of 2
to 8: copies of one text with 0 to 12 % of its words replaced. One group of N/200
identical texts stands for boilerplate. The order is shuffled. What is a
near-duplicate is not written down: bench/exact.py counts it.

Real files are the other corpus: manual pages, HTML, licences and headers of
this machine, which share templates.
"""

import gzip
import math
from pathlib import Path

import numpy as np

VOCABULARY = 50_000
CLUSTERED = 0.30
CHANGED = 0.12
CLUSTER_SIZES = (2, 8)
LETTERS = "etaoinshrdlcumwfgypbvkjxqz"
LETTER_PERCENT = (
    12.7, 9.1, 8.2, 7.5, 7.0, 6.7, 6.3, 6.1, 6.0, 4.3, 4.0, 2.8, 2.8,
    2.4, 2.4, 2.2, 2.0, 2.0, 1.9, 1.5, 1.0, 0.8, 0.15, 0.15, 0.1, 0.07,
)  # fmt: skip


def vocabulary(random) -> list:
    """Distinct words, the frequent ones shorter, as in a language."""
    chances = np.array(LETTER_PERCENT) / sum(LETTER_PERCENT)
    words = {}
    while len(words) < VOCABULARY:
        mean = 2.5 + 0.45 * np.log(1 + len(words))
        length = max(1, int(random.poisson(mean)))
        word = "".join(random.choice(list(LETTERS), size=length, p=chances))
        words.setdefault(word)
    return list(words)


class Generator:
    def __init__(self, seed: int, mean_bytes: float, sigma: float, clustered: float, changed: float):
        self.clustered = clustered
        self.changed = changed
        self.random = np.random.Generator(np.random.PCG64(seed))
        self.words = vocabulary(self.random)
        weights = 1.0 / np.arange(1, VOCABULARY + 1)
        self.cumulative = np.cumsum(weights / weights.sum())
        sizes = np.array([len(word) + 1 for word in self.words])
        bytes_per_word = float((sizes * weights).sum() / weights.sum())
        self.mean_words = mean_bytes / bytes_per_word
        self.sigma = sigma

    def draw(self, count: int):
        """Word numbers by Zipf's law."""
        found = np.searchsorted(self.cumulative, self.random.random(count))
        return np.minimum(found, VOCABULARY - 1).astype(np.int32)

    def document(self):
        # exp(mu + sigma^2 / 2) is the mean of a log-normal distribution.
        mu = np.log(self.mean_words) - self.sigma**2 / 2
        return self.draw(max(8, round(float(np.exp(mu + self.sigma * self.random.standard_normal())))))

    def altered(self, document):
        """A copy with some share of its words replaced, `changed` at most."""
        copy = document.copy()
        places = self.random.random(len(copy)) < self.random.uniform(0, self.changed)
        copy[places] = self.draw(int(places.sum()))
        return copy

    def corpus(self, count: int):
        """`count` texts in shuffled order."""
        boilerplate = count // 200
        clustered = int(count * self.clustered) - boilerplate
        documents = [self.document()] * boilerplate
        while clustered > 1:
            size = min(clustered, int(self.random.integers(*CLUSTER_SIZES, endpoint=True)))
            original = self.document()
            documents.append(original)
            documents.extend(self.altered(original) for _ in range(size - 1))
            clustered -= size
        documents.extend(self.document() for _ in range(count - len(documents)))
        words = self.words
        for i in self.random.permutation(count):
            yield " ".join([words[word] for word in documents[i].tolist()])


class Numbered(Generator):
    """A corpus of any size whose near-duplicates are known. No document needs another one in memory.

    A tenth of the documents are in groups of three: a text, and two copies with 0 to 5 % of their words replaced. The
    members of a group are far apart in the order of the documents, which are numbered from 1.
    """

    SEED, SHARE, MEMBERS, CHANGED = 7, 0.1, 3, 0.05

    def __init__(self, count: int):
        super().__init__(self.SEED, mean_bytes=1000, sigma=0.5, clustered=0, changed=self.CHANGED)
        self.count = count
        self.groups = int(count * self.SHARE) // self.MEMBERS
        # Steps of this width visit every place once, and neighbours are far apart.
        self.step = next(step for step in range(int(count * 0.618), count) if math.gcd(step, count) == 1)

    def reseed(self, seed: int):
        self.random = np.random.Generator(np.random.PCG64([self.SEED, seed]))

    def text(self, document) -> str:
        return " ".join([self.words[word] for word in document.tolist()])

    def group(self, number: int) -> list:
        """The texts of a group, the same whenever they are asked for."""
        self.reseed(self.count + number)
        original = self.document()
        return [self.text(original), *(self.text(self.altered(original)) for _ in range(1, self.MEMBERS))]

    def members(self, number: int) -> list:
        """The numbers of a group's documents, in the order of their texts."""
        places = range(number * self.MEMBERS, (number + 1) * self.MEMBERS)
        return [place * pow(self.step, -1, self.count) % self.count + 1 for place in places]

    def lines(self, first: int, last: int):
        """The documents after `first` up to `last`, in PostgreSQL's text format for COPY."""
        self.reseed(first)
        stream = self.random
        for number in range(first, last):
            group, member = divmod(number * self.step % self.count, self.MEMBERS)
            if group < self.groups:
                text = self.group(group)[member]
            else:
                self.random = stream
                text = self.text(self.document())
            yield f"{number + 1}\t{text}\n"


def texts(count, mean_bytes=1000, sigma=0.5, seed=1, clustered=CLUSTERED, changed=CHANGED):
    """The corpus as an iterator over str."""
    return Generator(seed, mean_bytes, sigma, clustered, changed).corpus(count)


def write(file: Path, documents) -> Path:
    """The documents in PostgreSQL's text format for COPY, numbered from 1."""
    escapes = str.maketrans({"\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t"})
    with open(file, "w", encoding="utf-8", newline="\n") as output:
        output.writelines(f"{key}\t{text.translate(escapes)}\n" for key, text in enumerate(documents, 1))
    return file


FOLDERS = ("/usr/share/man", "/usr/share/doc", "/usr/include")
SUFFIXES = (".gz", ".html", ".h", ".txt", ".1", ".3", ".7")


def real_files(folders=FOLDERS):
    """The texts of files in UTF-8, as an iterator over str; gzip is undone."""
    for folder in folders:
        for path in sorted(Path(folder).rglob("*")):
            if path.suffix in SUFFIXES and path.is_file():
                try:
                    data = path.read_bytes()
                    text = (gzip.decompress(data) if path.suffix == ".gz" else data).decode().replace("\0", "")
                except (OSError, ValueError, EOFError):
                    continue
                if text:
                    yield text
