"""The tables of figures in README.md and docs/faq.md, from the same raw figures as docs/benchmarks.md."""

from pathlib import Path
from statistics import mean

from report import duration, megabytes, table, times
from sections.labelled import ADVISED, BEST, LABELLED

HEADER = ["", "documents", "minlsh", "peer", "its figure", "ratio", "command"]


def largest(sizes: dict, name: str):
    """The most documents at which something was measured, and the figures there."""
    counts = [int(count) for count, each in sizes.items() if name in each]
    return (max(counts), sizes[str(max(counts))]) if counts else (None, {})


def pairs(figures: dict):
    peers = {"rensa": "rensa, the fastest peer", "scan": "reading the table"}
    for name, label in peers.items():
        count, each = largest(figures, name)
        if count:
            yield "all pairs of a table, without an index", count, each["pairs"], label, each[name], duration


def index(figures: dict):
    count, each = largest(figures["sizes"], "pg_trgm: create")
    if count:
        own, other = each["minlsh: create"] / count, each["pg_trgm: create"] / count
        yield "`CREATE INDEX`, each document", count, own, "pg_trgm GIN", other, duration
        own, other = each["near_duplicates: p50"], each["pg_trgm: p50"]
        yield "a lookup, median", count, own, "pg_trgm GIN", other, duration
    copy = figures["inserts"]
    own = copy["minlsh"] - copy["no index"]
    other = copy["pg_trgm"] - copy["no index"]
    yield "COPY, each row, more than without an index", copy["rows"], own, "pg_trgm GIN", other, duration


def labelled(figures: dict):
    """F1 of advice, without labels and with some, beside the peer that is best with all of them: means of the sets."""
    ways = list(next(iter(figures.values()))["ways"])
    f1 = {way: mean([each["ways"][way]["f1"] for each in figures.values()]) for way in ways}
    peer = max((way for way in ways if way not in (ADVISED, LABELLED, BEST)), key=f1.get)
    texts = sum(each["texts"] for each in figures.values())
    beside = [f"{peer}, at its best threshold", f"{f1[peer]:.2f}", ""]
    best = f"the best threshold has {f1[BEST]:.2f}"
    for what, way in {"as `minlsh_suggest` advises": ADVISED, f"by 40 labels; {best}": LABELLED}.items():
        yield [f"F1 of {len(figures)} labelled sets, {what}", f"{texts:,}", f"{f1[way]:.2f}", *beside]


def export(figures: dict):
    """The job of docs/faq.md by each of its programs."""
    _, each = largest(figures, "datasketch")
    used = each["memory"]["pairs"]
    yield "`near_duplicate_pairs`", duration(each["pairs"]), "", megabytes(used), f"{each['found']:,}"
    for name, label in {
        "datasketch": "datasketch, the program above",
        "datasketch, xxh32": "datasketch, with the hash function `xxhash.xxh32_intdigest`",
        "rensa": "rensa",
    }.items():
        ratio = times(each[name] / each["pairs"])
        yield label, duration(each[name]), ratio, megabytes(each[f"{name}: memory"]), f"{each[f'{name}: pairs']:,}"


def put(file: Path, heading: str, header: list, body: list) -> None:
    """Replaces the first table after the heading."""
    before, heading, after = file.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    lines = after.split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    last = next(number for number, line in enumerate(lines) if number > first and not line.startswith("|"))
    lines[first:last] = table(header, body).split("\n")
    file.write_text(before + heading + "\n".join(lines), encoding="utf-8")


def put_section(file: Path, heading: str, text: str) -> None:
    """Replaces all between the heading and the next one of its level."""
    before, heading, after = file.read_text(encoding="utf-8").partition(f"\n## {heading}\n")
    _, following, rest = after.partition("\n## ")
    file.write_text(f"{before}{heading}\n{text}{following}{rest}", encoding="utf-8")


def write(results: dict, root: Path) -> None:
    body = []
    for section in (pairs, index):
        name = section.__name__
        if name in results:
            for what, count, own, peer, other, show in section(results[name]["figures"]):
                ratio = times(other / own) if other * 5 > own else f"1/{own / other:.0f}"
                cells = [what, f"{count:,}", show(own), peer, show(other), ratio]
                body.append([*cells, f"`bench/run.sh {name}`"])
    if "labelled" in results:
        body += [[*cells, "`bench/run.sh labelled`"] for cells in labelled(results["labelled"]["figures"])]
    put(root / "README.md", "Performance", HEADER, body)
    if "pairs" in results:
        count, _ = largest(results["pairs"]["figures"], "datasketch")
        header = [f"{count:,} documents of 1 kB", "CPU time", "of minlsh", "memory", "pairs"]
        put(root / "docs/faq.md", "Why not export to Python?", header, [*export(results["pairs"]["figures"])])
