"""docs/benchmarks.md and its plots, from the raw figures; needs the standard library only."""

import statistics
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from plot import BarChart, Chart  # noqa: E402

MISSING = "not measured"
GROWN = ("copy", "create", "first pairs", "pairs", "pairs, exact", "clusters", "clusters, leader", "plan")
PEER_NAMES = {"rensa": "rensa", "datasketch-xxh32": "datasketch, xxh32", "datasketch": "datasketch"}
PEER_STAGES = ("read", "sketch", "insert", "query")
LARGE = 1_000_000


def table(header: list, body: list) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in body])


def digits(value: float) -> str:
    """Three digits that matter, or all before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def duration(value) -> str:
    if value is None:
        return ""
    return f"{digits(value)} s" if value >= 1 else f"{digits(value * 1e3)} ms"


def size(value: float) -> str:
    return f"{digits(value / 2**20)} MB"


def times(value: float) -> str:
    return f"{digits(value)}x"


def share(part: int, whole: int) -> str:
    return f"{part / whole:.4f}" if whole else ""


NARROW = ", narrow"


class Figures:
    def __init__(self, results: dict):
        self.results = results
        self.sizes = {int(count): figures for count, figures in results["sizes"].items()}
        self.compare, self.small = results.get("compare"), results.get("small")
        self.at_compare = self.sizes.get(self.compare, {})

    def stage(self, count: int, name: str, where: str = "seconds"):
        """Median of a stage, in seconds."""
        values = self.sizes.get(count, {}).get(where, {}).get(name)
        return statistics.median(values) if values else None

    def built(self, count: int, index: str = ""):
        """Table to pairs, creation included: create and first pairs of the same round; `index` is
        empty for the default one, or NARROW."""
        seconds = self.sizes[count]["seconds"]
        return statistics.median(a + b for a, b in zip(seconds["create" + index], seconds["first pairs" + index]))

    def peer(self, count: int, name: str):
        """(medians of the stages, their total, the round that was stopped)."""
        rounds = self.sizes.get(count, {}).get("peers", {}).get(name)
        if not rounds:
            return None
        whole = [each["stages"] for each in rounds if "stopped" not in each]
        if not whole:
            return rounds[0]["stages"], None, rounds[0]
        medians = {stage: statistics.median(each[stage] for each in whole) for stage in PEER_STAGES}
        return medians, statistics.median(sum(each.values()) for each in whole), None

    def growth(self, name: str):
        """(from, to, factor) between the largest size and the one a tenth as large."""
        for count in sorted(self.sizes, reverse=True):
            small, large = self.stage(count // 10, name), self.stage(count, name)
            if small and large and count % 10 == 0:
                return count // 10, count, large / small
        return None


def holds(value, target: float, least: bool) -> str:
    if value is None:
        return ""
    return "yes" if (value >= target if least else value <= target) else "**no**"


def targets_table(f: Figures) -> str:
    body = []

    def row(what, target, measured, value=None, limit=None, least=True):
        body.append([what, target, measured, holds(value, limit, least) if limit is not None else ""])

    goals = {"datasketch": (20, 200), "rensa": (4, 40)}
    ways = (
        (f"table → pairs, index creation included, `threshold => {f.results['threshold']}`", 0, NARROW),
        ("table → pairs, index creation included, default index", 0, ""),
        ("table → pairs, the index is there", 1, ""),
    )
    for title, position, index in ways:
        for name, limits in goals.items():
            peer = f.peer(f.compare, name)
            what, limit = f"{title}; {name}, {f.compare or 0:,} documents", limits[position]
            if not peer or peer[1] is None:
                row(what, f">= {limit}x", MISSING)
                continue
            ours = f.built(f.compare, index) if position == 0 else f.stage(f.compare, "pairs")
            row(what, f">= {limit}x", times(peer[1] / ours), peer[1] / ours, limit)
    for name in ("pairs", "clusters"):
        value = f.stage(LARGE, name)
        row(f"{name} of {LARGE:,} indexed documents", "<= 6 s", duration(value) if value else MISSING, value, 6, False)
    grown = {name: f.growth(name) for name in GROWN if f.growth(name)}
    if grown:
        for name, (low, high, factor) in grown.items():
            row(f"growth of *{name}*, {low:,} to {high:,}", "<= 12x", times(factor), factor, 12, False)
    else:
        row("growth of every stage, 100,000 to 1,000,000", "<= 12x", MISSING)
    audit = f.at_compare.get("audit", {}).get("exact")
    if audit:
        what = f"by `minlsh_recall`, `verify => 'exact'`, {f.compare:,} documents"
        for name, limit in (("recall", 0.99), ("precision", 1.0)):
            measured = f"{audit[name]:.4f} ({audit[name + '_low']:.4f} to {audit[name + '_high']:.4f})"
            row(f"{name} {what}", f">= {limit}", measured, audit[name], limit)
    truth = f.results.get("accuracy")
    if truth:
        exact = truth["slot_bits"]["32 bits"]["exact"]
        what = f"by brute force, `verify => 'exact'`, {truth['documents']:,} documents, different texts"
        recall = exact["distinct_hits"] / max(1, exact["distinct"])
        precision = exact["distinct_hits"] / max(1, exact["distinct_found"])
        row(f"recall {what}", ">= 0.99", f"{recall:.4f}", recall, 0.99)
        row(f"precision {what}", ">= 1.0", f"{precision:.4f}", precision, 1.0)
    return table(["", "target", "measured", "holds"], body)


def stages_table(f: Figures) -> str:
    body = []

    def row(label, name, where):
        found = [f.stage(count, name, where) for count in f.sizes]
        if not any(found):
            return
        factor = f.growth(name) if where == "seconds" else None
        body.append([label, *map(duration, found), times(factor[2]) if factor else ""])

    for name in GROWN:
        row("COPY into the bare table" if name == "copy" else name, name, "seconds")
    for name in ("create", "pairs", "clusters", "plan"):
        row(f"{name}, 2 workers", name, "threads")
    for name in ("pairs", "clusters", "plan"):
        counts = [f"{each['counts'][name]:,}" for each in f.sizes.values()]
        body.append([{"pairs": "pairs found", "clusters": "documents in clusters", "plan": "documents to remove"}[name], *counts, ""])
    grown = f.growth("create")
    last = f"{grown[0]:,} → {grown[1]:,}" if grown else "growth"
    return table(["documents", *(f"{count:,}" for count in f.sizes), last], body)


def peers_table(f: Figures) -> str:
    count = f.compare
    if not f.at_compare:
        return MISSING

    def micro(value):
        return "" if value is None else digits(value * 1e6 / count)

    ours, pairs = f.built(count), f.stage(count, "pairs")
    create, first = f.stage(count, "create"), f.stage(count, "first pairs")
    backend = f.at_compare["memory"]["pairs"]["private"]
    narrow = [micro(f.stage(count, name + NARROW)) for name in ("create", "first pairs")]
    body = [
        [f"minlsh, `threshold => {f.results['threshold']}`", "", narrow[0], "", narrow[1], micro(f.built(count, NARROW)), "", "", size(backend)],
        ["minlsh, default index", "", micro(create), "", micro(first), micro(ours), "", "", size(backend)],
        ["minlsh, the index is there", "", "", "", micro(pairs), micro(pairs), "", "", size(backend)],
    ]
    for name, label in PEER_NAMES.items():
        peer = f.peer(count, name)
        if not peer:
            continue
        stages, total, stopped = peer
        cells = [micro(stages.get(stage)) for stage in PEER_STAGES]
        if stopped:
            body.append([label, *cells, f"stopped after {stopped['stopped']:,.0f} s", "", "", ""])
            continue
        peak = max(each["peak"] for each in f.at_compare["peers"][name])
        body.append([label, *cells, micro(total), times(total / ours), times(total / pairs), size(peak)])
    header = ["", "read the table", "text → signature", "insert", "pairs", "sum", "of the default index's", "of minlsh's, index there", "memory"]
    return table(header, body)


def stopped_notes(f: Figures) -> str:
    notes = []
    for count in f.sizes:
        for name, label in PEER_NAMES.items():
            peer = f.peer(count, name)
            if peer and peer[2]:
                done = peer[2].get("done", 0)
                notes.append(f" {label} was, at {count:,} documents: stages done {', '.join(peer[2]['stages']) or 'none'}; {done:,} documents signed.")
    without = [f"{count:,}" for count in f.sizes if f.compare and count > f.compare]
    if without:
        notes.append(f" At {' and '.join(without)} documents they were not run.")
    return "".join(notes)


def trigrams_note(f: Figures) -> str:
    found = f.results.get("trigrams")
    if not found:
        return ""
    count, queries = found["documents"], found["queries"]
    mean = statistics.mean(queries)
    whole = found["create"] + mean * count
    ours = f.built(count)
    return (
        f"- **pg_trgm**, at {count:,} documents: its GIN index takes {duration(found['create'])} and {found['bytes']:,.0f} bytes per document. The self join"
        f" was not run to its end: {len(queries)} lookups `body % $1` at {f.results['threshold']} through the index, of random"
        f" documents, take {duration(mean)} on average; {count:,} of them would take {duration(mean * count)}. With the index that is {times(whole / ours)}"
        f" minlsh's table → pairs ({duration(ours)}), {times(mean * count / f.stage(count, 'pairs'))} with both indexes there. It answers another question"
        " (3-letter trigrams of words): time is compared, not answers."
    )


def memory_table(f: Figures) -> str:
    body = []
    for count, figures in f.sizes.items():
        for name, each in figures["memory"].items():
            private = each["private"] - each["idle"]
            body.append([f"{name}, {count:,} documents", size(private), f"{private / count:,.0f}", size(each["resident"]), size(each["temporary"])])
    return table(["", "private", "bytes per document", "resident", "temporary"], body)


def variants_table(f: Figures) -> str:
    found, truth = f.at_compare.get("variants"), f.results.get("accuracy")
    if not found:
        return MISSING
    body = []
    for name, each in found.items():
        if name == "text":
            continue
        parts = [each["bytes"].get(part, 0) for part in ("table", "gin", "btree")]
        cells = [f"{value:,.0f}" for value in (*parts, sum(parts))]
        cells += [duration(statistics.median(each["seconds"][stage])) for stage in ("create", "pairs")]
        bits = name.split()[0] if name.endswith("bits") else "32"
        if truth:
            signature = truth["slot_bits"][name]["signature"]
            cells += [
                f"{truth['rmse'][bits]['rmse']:.4f}",
                share(signature["distinct_hits"], signature["distinct"]),
                share(signature["distinct_hits"], signature["distinct_found"]),
            ]
        else:
            cells += ["", "", ""]
        label = "32 bits, default" if name == "32 bits" else name if name.endswith("bits") else f"32 bits, `{name}`"
        body.append([f"{label}; {each['bands']} × {each['rows']}", *cells])
    header = ["slots; bands × rows", "side table", "GIN", "key", "bytes per document", "create", "pairs", "RMSE", "recall", "precision"]
    return table(header, body)


def recall_table(f: Figures) -> str:
    body = []
    for count, figures in f.sizes.items():
        for verify, each in figures.get("audit", {}).items():
            intervals = [f"{each[name]:.4f} ({each[name + '_low']:.4f} to {each[name + '_high']:.4f})" for name in ("recall", "precision")]
            body.append([f"`minlsh_recall`, '{verify}', {count:,} documents, {duration(each['seconds'])}", f"{each['pairs']:,}", *intervals, "", ""])
    truth = f.results.get("accuracy")
    if truth:
        of_us = [(f"minlsh, '{verify}'", figures) for verify, figures in truth["slot_bits"]["32 bits"].items()]
        of_peers = [(PEER_NAMES[name], figures) for name, figures in truth["peers"].items()]
        for name, each in of_us + of_peers:
            cells = [f"{each['pairs']:,}", share(each["hits"], each["pairs"]), share(each["hits"], each["found"])]
            cells += [share(each["distinct_hits"], each["distinct"]), share(each["distinct_hits"], each["distinct_found"])]
            body.append([f"brute force: {name}, {truth['documents']:,} documents", *cells])
    return table(["", "true pairs", "recall", "precision", "different texts: recall", "precision"], body)


def plots(f: Figures, directory: Path) -> None:
    count = f.compare
    if f.at_compare:
        chart = BarChart(
            f"Table to pairs at {f.results['threshold']}, {count:,} documents, one core", "", "µs per document",
            ["table → index", "index → pairs", "table → pairs"], y_log=True,
            description="minlsh's index is durable; the peers' are in memory. Lower is better.",
        )  # fmt: skip
        bars = [("minlsh", f.stage(count, "create"), f.stage(count, "first pairs"), f.built(count))]
        for name, label in PEER_NAMES.items():
            peer = f.peer(count, name)
            if peer and peer[1]:
                stages = peer[0]
                bars.append((label, stages["read"] + stages["sketch"] + stages["insert"], stages["query"], peer[1]))
        for label, *values in bars:
            chart.bars(label, [value * 1e6 / count for value in values])
        chart.save(directory / "bench-stages.svg")

    chart = Chart(
        "Growth with the number of documents", "documents", "seconds", x_log=True, y_log=True,
        description="Time of minlsh's stages, and of the peers from table to pairs",
    )  # fmt: skip
    for name, label in (("create", "create index"), ("pairs", "pairs"), ("clusters", "clusters"), ("plan", "plan")):
        points = [(size, f.stage(size, name)) for size in f.sizes if f.stage(size, name)]
        chart.line(label, points, markers=True)
    for name in ("rensa", "datasketch"):
        points = [(size, f.peer(size, name)[1]) for size in f.sizes if f.peer(size, name) and f.peer(size, name)[1]]
        if points:
            chart.line(f"{name}, table → pairs", points, markers=True)
    chart.save(directory / "bench-growth.svg")

    found = f.at_compare.get("variants")
    if found:
        names = [name for name in found if name.endswith("bits")]
        chart = BarChart(
            f"Side data per document, {found['text']:,.0f} bytes of text", "slots of the signature", "bytes per document",
            names, description="Side table, GIN index and index of the key, by bits of a slot",
        )  # fmt: skip
        for part, label in (("table", "side table"), ("gin", "GIN of the bands"), ("btree", "index of the key")):
            chart.bars(label, [found[name]["bytes"].get(part, 0) for name in names])
        chart.bars("all", [sum(found[name]["bytes"].values()) for name in names])
        chart.save(directory / "bench-side-data.svg")


def write(results: dict, directory: Path) -> None:
    f = Figures(results)
    truth = results.get("accuracy") or {}
    variants = f.at_compare.get("variants", {})
    audits = [each["audit"]["exact"]["sampled"] for each in f.sizes.values() if "audit" in each]
    idle = [each["idle"] for figures in f.sizes.values() for each in figures["memory"].values()]
    values = {
        **{name: results[name] for name in ("machine", "pg_trgm", "day", "command", "rounds", "threshold")},
        "settings": ", ".join(f"`{name} = {value}`" for name, value in results["settings"].items() if "parallel" not in name),
        "bytes": f"{statistics.mean(each['bytes'] for each in f.sizes.values()):,.0f}",
        "pairs_at": ", ".join(f"{each['counts']['pairs']:,} of {count:,} documents" for count, each in f.sizes.items()),
        "cores": f" ({results['all_cores']})" if "all_cores" in results else "",
        "compare": f"{f.compare or 0:,}", "small": f"{f.small or 0:,}", "limit": f"{results['limit']:,.0f}",
        "peer_bands": tuple(results["peer_bands"]), "stopped": stopped_notes(f), "trigrams": trigrams_note(f),
        "idle": size(statistics.median(idle)), "text": f"{variants.get('text', 0):,.0f}",
        "near": f"{truth['rmse']['32']['pairs']:,}" if truth else "", "expected_rmse": f"{truth['rmse']['32']['expected']:.4f}" if truth else "",
        "sample": f"{max(audits):,}" if audits else "", "truth": f"{truth.get('truth', 0):,}",
        "copies_true": f"{truth.get('copies', 0):,}",
        "targets_table": targets_table(f), "stages_table": stages_table(f), "peers_table": peers_table(f),
        "memory_table": memory_table(f), "variants_table": variants_table(f), "recall_table": recall_table(f),
    }  # fmt: skip
    directory.mkdir(parents=True, exist_ok=True)
    plots(f, directory / "plots")
    template = (HERE / "benchmarks.md.in").read_text(encoding="utf-8")
    (directory / "benchmarks.md").write_text(template.format(**values), encoding="utf-8")
