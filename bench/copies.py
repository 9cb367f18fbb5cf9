#!/usr/bin/env python3
"""Writes documents of six kinds, each with its origin and with the group of its copies, the same for the same seed.

    python3 bench/copies.py > copies.tsv      # id <tab> kind <tab> origin <tab> group <tab> body, for COPY

| kind | origin | what the documents of an origin share | copies |
|---|---|---|---|
| news | outlet | a line above, a footer | stories of an agency, edited, sometimes cut |
| pages | site | menu, footer | articles that several sites print; beside each, links to others |
| products | shop | a template | none: all differ in name, colour, size and a sentence |
| jobs | company | all but role, town and some tasks | an ad once more, with another number and date |
| mails | sender | signature and disclaimer | forwarded mails, with the signature of who forwards |
| replies | author | a signature | cross-posts; replies to one post quote the same sentence of it |

Words are those of corpus.py. Two documents are copies if their groups are equal.
"""

import argparse
import sys
from dataclasses import dataclass

from corpus import Generator


@dataclass
class Document:
    kind: str
    origin: str
    group: str
    body: str


class Copies(Generator):
    def __init__(self, seed: int):
        super().__init__(seed, mean_bytes=1000, sigma=0.5, clustered=0, changed=0)

    def number(self, least: int, most: int) -> int:
        return int(self.random.integers(least, most, endpoint=True))

    def some(self, things: list, count: int) -> list:
        return [things[i] for i in self.random.choice(len(things), size=count, replace=False)]

    def words_of(self, numbers) -> str:
        return " ".join(self.words[number] for number in numbers)

    def text(self, least: int, most: int) -> str:
        return self.words_of(self.draw(self.number(least, most)))

    def edited(self, text: str, share: float) -> str:
        """The text with up to this share of its words replaced."""
        words = text.split(" ")
        places = self.random.random(len(words)) < self.random.uniform(0, share)
        others = self.draw(len(words))
        return " ".join(self.words[other] if at else word for word, at, other in zip(words, places, others))

    def date(self) -> str:
        return f"{self.number(1, 28)}.{self.number(1, 12)}.2026 {self.number(0, 23)}:{self.number(10, 59)}"

    def news(self, stories=1000, outlets=30):
        frames = [(self.text(4, 10), self.text(30, 90)) for _ in range(outlets)]
        for story in range(stories):
            text = self.text(150, 350)
            for outlet in self.some(range(outlets), self.number(1, 6)):
                above, footer = frames[outlet]
                printed = self.edited(text, 0.08).split(" ")
                kept = len(printed) if self.number(1, 4) > 1 else len(printed) * self.number(80, 95) // 100
                body = f"{above} {self.date()} {' '.join(printed[:kept])} {footer}"
                yield Document("news", f"outlet {outlet}", f"story {story}", body)

    def pages(self, articles=1500, sites=40):
        frames = [(self.text(60, 150), self.text(60, 120)) for _ in range(sites)]
        titles = [self.text(5, 9) for _ in range(articles)]
        for article in range(articles):
            text = self.text(150, 400)
            for site in self.some(range(sites), self.number(1, 4)):
                menu, footer = frames[site]
                links = " ".join(self.some(titles, 2))
                body = f"{menu} {titles[article]} {self.edited(text, 0.04)} {links} {footer}"
                yield Document("pages", f"site {site}", f"article {article}", body)

    def products(self, products=3500, shops=12):
        templates = [(self.text(30, 60), self.text(60, 100)) for _ in range(shops)]
        for product in range(products):
            shop = self.number(0, shops - 1)
            above, below = templates[shop]
            size = f"{self.number(20, 60)} {self.some(['black', 'white', 'red', 'green', 'blue'], 1)[0]}"
            body = f"{above} {self.text(2, 4)} {size} {self.text(6, 15)} {below}"
            yield Document("products", f"shop {shop}", f"product {product}", body)

    def jobs(self, jobs=900, companies=25):
        roles = [self.text(2, 4) for _ in range(12)]
        towns = [self.text(1, 1) for _ in range(40)]
        templates = [(self.text(70, 120), self.text(70, 120)) for _ in range(companies)]
        tasks = [[self.text(6, 10) for _ in range(8)] for _ in range(companies)]
        for job in range(jobs):
            company = self.number(0, companies - 1)
            above, below = templates[company]
            role, town = self.some(roles, 1)[0], self.some(towns, 1)[0]
            text = f"{role} {town} {above} {role} {town} {' '.join(self.some(tasks[company], 4))} {below}"
            for _ in range(self.number(1, 2)):
                body = f"{text} {self.number(10**6, 10**7)} {self.date()}"
                yield Document("jobs", f"company {company}", f"job {job}", body)

    def mails(self, mails=2500, senders=60):
        signatures = [self.text(40, 110) for _ in range(senders)]
        for mail in range(mails):
            text = self.text(30, 150)
            sender, other = self.some(range(senders), 2)
            yield Document("mails", f"sender {sender}", f"mail {mail}", f"{text} {signatures[sender]}")
            if self.number(1, 5) == 1:
                body = f"forwarded, {self.date()}: {text} {signatures[other]}"
                yield Document("mails", f"sender {other}", f"mail {mail}", body)

    def replies(self, posts=400, authors=80):
        signatures = [self.text(15, 40) for _ in range(authors)]
        for post in range(posts):
            quoted = self.text(12, 25)
            for reply in range(self.number(2, 8)):
                author = self.number(0, authors - 1)
                text = self.text(15, 90)
                for _ in range(2 if self.number(1, 6) == 1 else 1):
                    body = f"> {quoted} {self.edited(text, 0.05)} {signatures[author]}"
                    yield Document("replies", f"author {author}", f"reply {post}.{reply}", body)


KINDS = ("news", "pages", "products", "jobs", "mails", "replies")


def documents(seed=1):
    """All documents, in shuffled order."""
    copies = Copies(seed)
    found = [document for kind in KINDS for document in getattr(copies, kind)()]
    return [found[i] for i in copies.random.permutation(len(found))]


def lines(seed=1):
    """The documents in PostgreSQL's text format for COPY, numbered from 1."""
    for key, document in enumerate(documents(seed), 1):
        # Only letters, digits and blanks: nothing to escape.
        yield f"{key}\t{document.kind}\t{document.origin}\t{document.group}\t{document.body}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=1)
    sys.stdout.writelines(lines(parser.parse_args().seed))


if __name__ == "__main__":
    main()
