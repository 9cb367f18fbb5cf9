#!/usr/bin/env python3
"""Draws pictures of the manual from what its pages show: the output of their examples, which the tests compare with
what PostgreSQL prints, and their tables.

    scripts/pictures.py           # writes docs/plots/{suggest,copies,bridges,gate,codes,plan,labels}.svg
    scripts/pictures.py --check   # fails if one of them is not what a page says now
"""

import math
import re
import sys
from html import escape
from itertools import product
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
# Each class in light, and in dark.
COLOURS = {
    "paper": ("fill:#ffffff", "fill:#0d1117"),
    "card": ("fill:#f4f7fb;stroke:#b8c6da", "fill:#161d29;stroke:#3b4a61"),
    "node": ("fill:#dfe9f7;stroke:#4a6fa5", "fill:#22344f;stroke:#8fb3e6"),
    "bar": ("fill:#4a6fa5", "fill:#7fa6dd"),
    "text": ("fill:#1b2a41", "fill:#e6edf3"),
    "quiet": ("fill:#66758c", "fill:#8b98a9"),
    "faint": ("fill:#8e9bae", "fill:#66717f"),
    "line": ("stroke:#4a6fa5;stroke-width:1.6;fill:none", "stroke:#8fb3e6;stroke-width:1.6;fill:none"),
    "mark": ("stroke:#c0392b;stroke-width:2;fill:none", "stroke:#ff7b6b;stroke-width:2;fill:none"),
    "red": ("fill:#c0392b", "fill:#ff7b6b"),
    "band": ("fill:#dfe9f7", "fill:#22344f"),
    "random": ("stroke:#66758c;stroke-width:2;stroke-dasharray:2 4;fill:none",
               "stroke:#8b98a9;stroke-width:2;stroke-dasharray:2 4;fill:none"),
}  # fmt: skip


def style() -> str:
    light, dark = ("".join(f".{name}{{{each[shade]}}}" for name, each in COLOURS.items()) for shade in (0, 1))
    return f"<style>{light}@media (prefers-color-scheme: dark){{{dark}}}</style>"


def text(x, y, content, kind="text", anchor="start", size=13, bold=False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    content = content if content.startswith("<tspan") else escape(content)
    return f'<text x="{x}" y="{y}" class="{kind}" text-anchor="{anchor}" font-size="{size}"{weight}>{content}</text>'


def box(x, y, width, height, kind="card") -> str:
    return f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="5" class="{kind}"/>'


def path(d, kind="line") -> str:
    return f'<path d="{d}" class="{kind}"/>'


def picture(width, height, title, parts) -> str:
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
    paper = '<rect width="100%" height="100%" class="paper"/>'
    return "\n".join([head, f"<title>{escape(title)}</title>", style(), paper, *parts, "</svg>\n"])


def page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def example(name: str, part: str) -> tuple[str, str]:
    """The first example of a page whose SQL has a part: its SQL, and its output."""
    blocks = re.findall(r"```sql\n(.*?)```\n+```text\n(.*?)```", page(name), re.S)
    return next((sql, output) for sql, output in blocks if part in sql)


def rows(output: str) -> list[dict]:
    """The rows of a table that psql printed."""
    header, _, *lines = output.strip().splitlines()
    names = [name.strip() for name in header.split("|")]
    return [dict(zip(names, (cell.strip() for cell in line.split("|")))) for line in lines if "|" in line]


def wrapped(runs, width):
    """Lines of (kind, words), each of up to `width` characters, of runs of one kind."""
    lines, room = [[]], width
    for kind, run in runs:
        for word in run.split():
            if len(word) + 1 > room:
                lines.append([])
                room = width
            lines[-1].append((kind, word))
            room -= len(word) + 1
    return lines


def paragraph(x, y, runs, width, size=13) -> list[str]:
    span = lambda kind, word: f'<tspan class="{kind}">{escape(word)} </tspan>'  # noqa: E731
    spans = ["".join(span(*each) for each in line) for line in wrapped(runs, width)]
    return [text(x, y + number * size * 1.45, line, size=size) for number, line in enumerate(spans)]


def histogram(left, title, report) -> list[str]:
    top, bottom, low, high, width = 62, 230, 0.2, 1.0, 340
    at = lambda similarity: left + (similarity - low) / (high - low) * width  # noqa: E731
    bins = [row for row in report if row["item"] == "nearest"]
    most = max(int(row["documents"]) for row in bins)
    parts = [text(left, 30, title, bold=True, size=15)]
    for row in bins:
        start, end = (float(part) for part in row["value"].split(" to "))
        height = int(row["documents"]) / most * (bottom - top - 16)
        parts.append(
            f'<rect x="{at(start) + 1:.1f}" y="{bottom - height:.1f}" width="{at(end) - at(start) - 2:.1f}" '
            f'height="{height:.1f}" class="bar"/>'
        )
    parts.append(path(f"M{left} {bottom}H{left + width}"))
    for tick in (0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0):
        parts.append(text(f"{at(tick):.1f}", bottom + 18, f"{tick:.1f}", "quiet", "middle", 12))
    parts.append(text(left + width / 2, bottom + 38, "similarity to the nearest other document", "quiet", "middle", 12))
    for item, line, kind in (("random pairs", "random", "quiet"), ("threshold", "mark", "red")):
        value = next(float(row["value"]) for row in report if row["item"] == item)
        x = f"{at(value):.1f}"
        anchor, shift = ("end", -6) if item == "random pairs" and value > 0.4 else ("start", 6)
        parts.append(path(f"M{x} {top - 14}V{bottom}", line))
        parts.append(text(f"{at(value) + shift:.1f}", top - 4, f"{item} {value:g}", kind, anchor, 12))
    return parts


def suggest() -> str:
    of = lambda name, table: rows(example(f"how-to/{name}.md", f"minlsh_suggest('{table}'")[1])  # noqa: E731
    pages, licenses = of("copies", "frames"), of("choose-a-threshold", "licenses")
    parts = histogram(20, "Pages of four sites: a valley", pages) + histogram(400, "Licences: no valley", licenses)
    return picture(760, 284, "Documents by the similarity of the nearest other document", parts)


def copies() -> str:
    name = "how-to/copies.md"
    sql, plain = example(name, "'The Northern Herald.")
    article = re.search(r"\(1, '(.*?)'\)", sql)[1]
    frames = re.findall(r"SELECT (\d0) \+ n, '(\w+)', (.*?)\nFROM", sql, re.S)
    pair = next(row for row in rows(example(name, "boilerplate => 'site') ORDER BY doc_a")[1].split("rows)")[0])
                if row["doc_a"].endswith("1"))
    parts, least = [], re.search(r"body FROM pages', ([\d.]+)", sql)[1]
    for x, (first, site, frame) in zip((20, 400), frames):
        above, below = ("".join(re.findall(r"'(.*?)'", half, re.S)) for half in frame.split("|| body ||"))
        parts += [box(x, 46, 340, 164), text(x, 32, f"Page {int(first) + 1}: {site}", bold=True, size=15)]
        parts += paragraph(x + 14, 72, [("faint", above), ("text", article), ("faint", below)], 47)
    most = max(row["most_similar"] for row in rows(plain))
    ways = (
        ("as they are", f"not found: the two share less than {least}, two pages of one site up to {most}"),
        ("boilerplate => 'site'", f"found: what is left of them has a similarity of {pair['similarity']}"),
    )
    for number, (way, found) in enumerate(ways):
        parts += [text(20, 240 + 24 * number, way, bold=True), text(190, 240 + 24 * number, found)]
    return picture(760, 278, "Two pages without the menu and the footer of their sites", parts)


def bridges() -> str:
    name = "reference/whole-corpus.md"
    _, output = example(name, "near_duplicate_bridges('SELECT id, body FROM versions'")
    cluster, chain = (rows(part) for part in re.split(r"\(1 row\)", output))
    parts = [text(20, 30, "A chain: each version is similar to the next one", bold=True, size=15)]
    place = {key: 70 + 155 * number for number, key in enumerate([chain[0]["doc_a"]] + [row["doc_b"] for row in chain])}
    first, *_, last = place.values()
    ends = f"the ends: {cluster[0]['least_similar']}"
    parts += [path(f"M{first} 78C{first + 120} 44 {last - 120} 44 {last} 78", "random"),
              text((first + last) / 2, 48, ends, "quiet", "middle")]  # fmt: skip
    for row in chain:
        a, b = place[row["doc_a"]], place[row["doc_b"]]
        parts += [path(f"M{a} 100H{b}"), text((a + b) / 2, 92, row["similarity"], anchor="middle", size=12)]
    for key, x in place.items():
        parts += [f'<circle cx="{x}" cy="100" r="22" class="node"/>', text(x, 105, key, anchor="middle")]
    pair = r"a pair of (\S+) that connects (\S+) pages with (\S+)\s+others"
    similarity, *sizes = re.search(pair, page(name)).groups()
    sizes = [int(size.replace(",", "")) for size in sizes]
    title = f"A bridge: without this pair, the {sum(sizes):,} pages fall in two"
    parts.append(text(20, 172, title, bold=True, size=15))
    for x, size in zip((170, 590), sizes):
        # The area of an ellipse shows the number of pages.
        radius = 1.15 * size**0.5
        parts.append(f'<ellipse cx="{x}" cy="242" rx="{2.4 * radius:.1f}" ry="{radius:.1f}" class="node"/>')
        parts.append(text(x, 312, f"{size:,} pages", anchor="middle"))
    left, right = (x + side * 2.4 * 1.15 * size**0.5 for x, side, size in zip((170, 590), (1, -1), sizes))
    parts += [path(f"M{left:.1f} 242H{right:.1f}", "mark"),
              text(f"{(left + right) / 2:.1f}", 232, similarity, "red", "middle", 13, True)]  # fmt: skip
    return picture(760, 328, "A chain of similar documents, and a pair that holds a cluster together", parts)


def gate() -> str:
    table = page("how-to/keep-out.md").split("## Refuse or skip")[0]
    plain = re.sub(r"\[(.*?)\]\(.*?\)|`(.*?)`", lambda found: found[1] or found[2], table)
    lines = [line.strip("|") for line in plain.splitlines() if line.startswith("|")]
    ways = [[cell.strip() for cell in line.split("|")] for line in lines[2:]]
    middle = 58 + 25 * len(ways)
    parts = [box(10, middle - 24, 96, 48, "node"), text(58, middle + 5, "a row arrives", anchor="middle", size=12),
             text(212, 40, "A near-duplicate is", bold=True), text(420, 40, "by", bold=True),
             text(748, 40, "waits for others", bold=True, anchor="end")]  # fmt: skip
    for number, (what, use, waits) in enumerate(ways):
        y = 58 + 50 * number
        parts.append(path(f"M106 {middle}C160 {middle} 150 {y + 20} 202 {y + 20}"))
        for x, width, kind, words in ((202, 200, "text", what), (410, 250, "quiet", use)):
            parts.append(box(x, y, width, 40))
            lines = paragraph(x + 10, y + 25, [(kind, words)], width // 7, 12)
            parts += paragraph(x + 10, y + 34 - 9 * len(lines), [(kind, words)], width // 7, 12)
        parts.append(text(748, y + 25, waits.split(",")[0], anchor="end"))
    y = 58 + 50 * len(ways)
    parts += [path(f"M106 {middle}C160 {middle} 150 {y + 20} 202 {y + 20}", "random"),
              text(212, y + 25, "Any other row is inserted.", "quiet", size=12)]  # fmt: skip
    return picture(760, y + 44, "The ways of an ingest gate", parts)


def codes() -> str:
    sql, output = example("how-to/short-texts.md", "CREATE TABLE offers")
    names = dict(re.findall(r"\((\d), '(.*?)'\)", sql)[:3])
    found = {row["agree"]: set(row["pairs"].split()) for row in rows(output)}
    place = {key: 62 + 62 * number for number, key in enumerate(names)}
    parts = []
    for key, name in names.items():
        runs = [("red" if re.search(r"\d", word) else "text", word) for word in name.split()]
        parts += [box(20, place[key] - 26, 500, 44), text(32, place[key] + 1, key, "quiet", size=12)]
        parts += paragraph(50, place[key] + 1, runs, 99, 12)
    for a, b in zip(names, list(names)[1:]):
        if f"{a}~{b}" in found[""]:
            same, high, low = f"{a}~{b}" in found["codes(name)"], place[a] + 4, place[b] - 12
            parts.append(path(f"M520 {high}C548 {high} 548 {low} 520 {low}", "line" if same else "random"))
            words = "the same code: similar" if same else "different codes: not similar"
            parts.append(text(552, (high + low) / 2 + 4, words, "text" if same else "quiet", size=12))
    return picture(760, 224, "Names that are similar, and the pairs whose codes agree", parts)


def plan() -> str:
    sql, output = example("how-to/remove-duplicates.md", "keep => 'published DESC') ORDER BY doc_id")
    articles = {key: (day, body) for key, day, body in re.findall(r"\((\d), '([\d-]+)', '(.*?)'\)", sql)}
    removed = rows(output)
    kept = sorted(articles.keys() - {row["doc_id"] for row in removed})
    parts = [text(20, 32, "Kept", bold=True, size=15), text(420, 32, "Removed", bold=True, size=15)]

    def card(x, y, key, kind, more=""):
        day, body = articles[key]
        title = text(x + 10, y + 18, f"{key}, {day}{more}", "quiet", size=12)
        return [box(x, y, 320, 62, kind), title, *paragraph(x + 10, y + 36, [("text", body)], 54, 11)]

    y = 46
    for key in kept:
        gone = [row for row in removed if row["kept_id"] == key]
        middle = y + 37 * max(len(gone), 1) - 37
        parts += card(20, middle, key, "node")
        for row in gone:
            parts.append(path(f"M340 {middle + 31}C380 {middle + 31} 380 {y + 31} 420 {y + 31}"))
            parts += card(420, y, row["doc_id"], "card", f", similarity {row['similarity']}")
            y += 74
        y += 0 if gone else 74
    return picture(760, y + 6, "What a plan keeps, and what it removes", parts)


# The model of the answers, as the engine fits it: P(same | s) = hi / (1 + exp(-(s - c) / w)), and slips.
CENTERS = [-0.04 + 0.02 * step for step in range(57)]
WIDTHS = (0.005, 0.01, 0.02, 0.03, 0.045, 0.07, 0.1, 0.15, 0.22)
PLATEAUS = {1: 6, 0.97: 2, 0.92: 1.5, 0.85: 1.2, 0.7: 1, 0.5: 1, 0.3: 1, 0.1: 1}
SLIPS, CAUTION = 0.02, 0.6


def curves(answers) -> dict:
    """By similarity the mean of the curves that the answers make likely, and the ends of nine tenths of them."""
    grid = list(product(CENTERS, WIDTHS, PLATEAUS))
    at = lambda s, c, w, hi: hi / (1 + math.exp(min(-(s - c) / w, 700)))  # noqa: E731
    weights = []
    for curve in grid:
        known = 0.0
        for similarity, same in answers:
            probability = SLIPS + (1 - 2 * SLIPS) * at(similarity, *curve)
            known += math.log(probability if same else 1 - probability)
        weights.append(PLATEAUS[curve[2]] * math.exp(CAUTION * known))
    total, drawn = sum(weights), {}
    for step in range(101):
        values = sorted((at(step / 100, *curve), weight / total) for curve, weight in zip(grid, weights))
        below, ends = 0.0, []
        for value, weight in values:
            ends += [value for edge in (0.05, 0.95) if below < edge <= below + weight]
            below += weight
        drawn[step / 100] = (sum(value * weight for value, weight in values), ends[0], ends[-1])
    return drawn


def labels() -> str:
    name = "how-to/label-pairs.md"
    pairs = rows(example(name, "AS similarities")[1])
    answers = [(float(value), row["same"] == "t") for row in pairs for value in row["similarities"].split()]
    report = rows(example(name, "minlsh_suggest_from_labels('products', 'decided', body")[1])
    report = {row["item"]: row for row in report}
    left, width, top, bottom = 70, 660, 78, 240
    x = lambda similarity: left + similarity * width  # noqa: E731
    y = lambda share: bottom - share * (bottom - top)  # noqa: E731
    drawn = curves(answers)
    line = lambda column: [f"{x(s):.1f} {y(values[column]):.1f}" for s, values in drawn.items()]  # noqa: E731
    parts = [text(20, 30, "Answers, and the curve that they make likely", bold=True, size=15),
             f'<path d="M{"L".join(line(1) + line(2)[::-1])}Z" class="band"/>', path("M" + "L".join(line(0))),
             path(f"M{left} {bottom}H{left + width}"), text(left - 10, top + 5, "same", "quiet", "end", 12),
             text(left - 10, bottom + 5, "different", "quiet", "end", 12)]  # fmt: skip
    for similarity, same in answers:
        at = y(same) + (-5 if same else 5)
        parts.append(f'<circle cx="{x(similarity):.1f}" cy="{at}" r="4" class="{"bar" if same else "faint"}"/>')
    for tick in range(11):
        parts.append(text(f"{x(tick / 10):.1f}", bottom + 28, f"{tick / 10:.1f}", "quiet", "middle", 12))
    parts.append(text(left + width / 2, bottom + 46, "similarity of the pair", "quiet", "middle", 12))
    threshold = report["threshold"]["value"]
    at = f"{x(float(threshold)):.1f}"
    parts += [path(f"M{at} {top - 26}V{bottom}", "mark"),
              text(float(at) + 6, top - 18, f"threshold {threshold}", "red", size=12)]  # fmt: skip
    for number, item in enumerate(("precision", "recall")):
        value, low, high = (float(report[item][column]) for column in ("value", "low", "high"))
        words = f"{item} {value:.2f}, between {low:.2f} and {high:.2f} in 9 of 10 cases"
        parts.append(text(left + width, bottom - 60 + 20 * number, words, "text", "end", 12))
    return picture(760, 300, "The probability that a pair is the same, by its similarity", parts)


def main() -> None:
    stale = []
    for draw in (suggest, copies, bridges, gate, codes, plan, labels):
        file, drawn = DOCS / "plots" / f"{draw.__name__}.svg", draw()
        if "--check" not in sys.argv:
            file.write_text(drawn, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != drawn:
            stale.append(str(file.relative_to(DOCS.parent)))
    if stale:
        sys.exit(f"not what the pages show: {', '.join(stale)}. Run scripts/pictures.py")


if __name__ == "__main__":
    main()
