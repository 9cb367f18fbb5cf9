"""Signing texts of every script beside md5() of the same bytes, in SQL: by characters and by words."""

import corpus
import languages
from harness import Server, alternate, note

DOCUMENTS = 3000
SIZE = 1500
CALLS = {
    "md5": "md5(body)",
    "characters": "minhash(body)",
    "words": "minhash(body, unit => 'word', shingle_size => 3)",
}


def measure(options) -> dict:
    figures = {}
    with Server() as server:
        for language in languages.LANGUAGES:
            note(language.name)
            texts = languages.texts(language, DOCUMENTS, SIZE)
            rows = server.load("docs", corpus.write(options.directory / "docs.tsv", texts))
            measures = {
                name: (lambda call=call: server.time(f"SELECT count({call}) FROM docs") / rows)
                for name, call in CALLS.items()
            }
            for measure_once in measures.values():
                measure_once()  # warms
            figures[language.name] = alternate(options, measures)
            sizes = server.rows("SELECT avg(octet_length(body))::float8, avg(length(body))::float8 FROM docs")[0]
            figures[language.name] |= dict(zip(("bytes", "length"), sizes))
    return figures
