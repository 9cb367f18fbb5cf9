"""The table of figures in README.md, from the same raw figures as docs/benchmarks.md."""

from pathlib import Path

from report import duration, table, times

HEADER = ["", "documents", "minlsh", "peer", "its figure", "ratio", "command"]


def largest(sizes: dict, name: str):
    """The most documents at which something was measured, and the figures there."""
    counts = [int(count) for count, each in sizes.items() if name in each]
    return (max(counts), sizes[str(max(counts))]) if counts else (None, {})


def bytes_each(value: float) -> str:
    return f"{value:,.0f} bytes"


def pairs(figures: dict):
    peers = {"rensa": "rensa", "datasketch": "datasketch", "scan": "reading the table"}
    for name, label in peers.items():
        count, each = largest(figures, name)
        if count:
            yield "table → all pairs at 0.9, exact, no index", count, each["pairs"], label, each[name], duration


def index(figures: dict):
    count, each = largest(figures["sizes"], "pg_trgm: create")
    if count:
        own, other = each["minlsh: create"] / count, each["pg_trgm: create"] / count
        yield "`CREATE INDEX`, a document of 1 kB", count, own, "pg_trgm GIN", other, duration
        own, other = each["minlsh: size"] / count, each["pg_trgm: size"] / count
        yield "its size, a document", count, own, "pg_trgm GIN", other, bytes_each
        own, other = each["near_duplicates: p50"], each["pg_trgm: p50"]
        yield "`near_duplicates(id, 0.9)`, p50", count, own, "pg_trgm GIN", other, duration
    count, each = largest(figures["sizes"], "operator: p50")
    first, of_first = min((int(count), each) for count, each in figures["sizes"].items())
    if first < count:
        label = f"the same among {first:,}"
        yield "a lookup by `~=`, p50", count, each["operator: p50"], label, of_first["operator: p50"], duration
    copy = figures["inserts"]
    own = copy["minlsh"] - copy["no index"]
    other = copy["pg_trgm"] - copy["no index"]
    yield "COPY, a row, above no index", copy["rows"], own, "pg_trgm GIN", other, duration


def files(figures: dict):
    if figures:
        count, own, other = figures["documents"], figures["minlsh, exact, 0.8"], figures["minlsh, signature, 0.8"]
        yield "all pairs at 0.8 of real files, exact", count, own, "by signature", other, duration


def engine(figures: dict):
    own, other = (figures["signatures"][name] for name in ("minlsh: fss", "datasketch: text"))
    yield "text → signature, 1 kB", 1, own, "datasketch", other, duration


def write(results: dict, file: Path) -> None:
    """Replaces the first table after the heading Performance."""
    body = []
    for section in (pairs, index, files, engine):
        name = section.__name__
        if name in results:
            for what, count, own, peer, other, show in section(results[name]["figures"]):
                ratio = times(other / own) if other * 5 > own else f"1/{own / other:.0f}"
                cells = [what, f"{count:,}", show(own), peer, show(other), ratio]
                body.append([*cells, f"`bench/run.sh {name}`"])
    before, heading, after = file.read_text(encoding="utf-8").partition("\n## Performance\n")
    lines = after.split("\n")
    first = next(number for number, line in enumerate(lines) if line.startswith("|"))
    last = next(number for number, line in enumerate(lines) if number > first and not line.startswith("|"))
    lines[first:last] = table(HEADER, body).split("\n")
    file.write_text(before + heading + "\n".join(lines), encoding="utf-8")
