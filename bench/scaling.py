"""The measured parts of docs/scaling.md, from the raw figures: what is small of the section "index", what is large of
the section "scale", and what is computed of the largest of both."""

from pathlib import Path

from readme import put, put_section
from report import digits, duration, hours, page, size, table
from sections.scale import MILESTONES, TURNS

TEMPLATE = Path(__file__).resolve().parent / "scaling.md.in"
COMPUTED = (100_000_000, 1_000_000_000)
PARTITIONS, SERVERS = 32, 4


def indexes(results: dict) -> dict:
    """The size of an index, the time of its CREATE INDEX and of a lookup, by the number of documents."""
    found = {}
    for count, each in results.get("index", {}).get("figures", {}).get("sizes", {}).items():
        if int(count) >= 100_000:
            found[int(count)] = (each["minlsh: size"], each["minlsh: create"], each["operator: p50"])
    if "scale" in results:
        figures = results["scale"]["figures"]
        made, lookups = (figures["steps"][name] for name in ("index", "lookups"))
        found[figures["rows"]] = (made["index"], made["processor"], lookups["operator, again: p50"])
    return dict(sorted(found.items()))


def sizes_table(measured: dict) -> tuple:
    body = [
        [f"{count:,}", size(own), hours(create), duration(p50), "measured"]
        for count, (own, create, p50) in measured.items()
    ]
    largest, (own, create, _) = max(measured.items())
    for count in COMPUTED:
        more = count / largest
        body.append([f"{count:,}", size(own * more), hours(create * more), "", f"computed from {largest:,}"])
    return ["documents", "index", "CREATE INDEX, one core", "`~=`, p50", ""], body


def billion_table(measured: dict, pairs: dict) -> tuple:
    largest, (own, create, _) = max(measured.items())
    count = max(COMPUTED)
    text = max(pairs.values(), key=lambda each: each["pairs"])["bytes"] * count
    own, create = own / largest * count, create / largest * count
    return ["", "computed"], [
        ["texts, index", f"{size(text)}, {size(own)}"],
        ["CREATE INDEX", f"{hours(create)} of one core, or {hours(create / SERVERS)} with one session on each server"],
        ["index of a partition, of a server", f"{size(own / PARTITIONS)}, {size(own / SERVERS)}"],
        ["a search within a tenant", f"as among {count // PARTITIONS // 10**6},000,000 documents"],
        ["a search in everything", f"{PARTITIONS} such searches, {PARTITIONS // SERVERS} on each server"],
    ]


def filling(figures: dict) -> dict:
    """The cost of a row of the first documents and of the last ones, directly after a checkpoint, and of a change."""
    steps, shown = figures["steps"], {}
    for name, batch in {"first": MILESTONES[0], "last": MILESTONES[-1]}.items():
        load, tail = steps[f"load {batch}"], steps[f"tail {batch}"]
        shown[name] = f"{min(figures['rows'], batch * figures['batch']):,}"
        for kind, each in {"load": load, "tail": tail}.items():
            shown[f"{name}_{kind}"] = duration(each["processor"] / each["rows"])
            shown[f"{name}_{kind}_wal"] = size(each["wal"] / each["rows"])
    filled, cleaned = steps["vacuum after filling"], steps["churn: VACUUM"]
    updated, replaced = (steps[f"churn: {kind}"] for kind in ("UPDATE", "DELETE and INSERT"))
    shown |= {
        "updated": duration(updated["processor"] / updated["rows"]),
        "replaced": duration(replaced["processor"] / replaced["rows"]),
        "cleaned": hours(cleaned["clock"]),
        "index_before": f"{filled['index'] / figures['rows']:,.0f}",
        "index_after": f"{cleaned['index'] / figures['rows']:,.0f} bytes",
    }
    return shown


def jobs_table(figures: dict) -> str:
    labels = {
        "pairs, without an index": "pairs, without an index",
        "index": "CREATE INDEX",
        "pairs": "pairs",
        "clusters": "clusters",
        "plan": "plan: what to remove",
        "first refresh": "tracked clusters: first refresh, with its writes",
    }
    body = []
    for name, label in labels.items():
        each = figures["steps"][name]
        rows = "" if name in ("index", "first refresh") else f"{each['rows']:,}"
        body.append([label, rows, *(hours(each[clock]) for clock in ("processor", "clock")),
                     size(each["memory"]), size(each["temporary"])])  # fmt: skip
    for kind in ("inserted", "deleted", "changed"):
        each = figures["steps"][f"refresh: {kind}"]
        how = ", all documents" if each["full"] else ""
        label = f"refresh after {each['changes']:,} rows were {kind}{how}"
        body.append([label, "", duration(each["taken"]), "", size(each["memory"]), size(each["temporary"])])
    return table(["", "rows", "CPU", "clock", "memory", "temporary files"], body)


def lookups_table(figures: dict) -> str:
    each = figures["steps"]["lookups"]
    ways = {"near_duplicates": "`near_duplicates(id, 0.9)`", "operator": "`~=` in a join"}
    body = [
        [label, *(duration(each[f"{name}, {turn}: {p}"]) for turn in TURNS for p in ("p50", "p95"))]
        for name, label in ways.items()
    ]
    return table(["", "at first: p50", "p95", "again: p50", "p95"], body)


def run(measured: dict) -> str:
    """What a large run took."""
    figures = measured["figures"]
    steps = figures["steps"]
    again = figures["begun again"]
    stopped = f" It was stopped and taken up again in: {', '.join(again)}." if again else ""
    pairs, truth = steps["pairs"], steps["truth"]["pairs"]
    wrong = pairs["rows"] - pairs["true"]
    return page(TEMPLATE, filling(figures) | {
        "rows": f"{figures['rows']:,}",
        "grouped": f"{figures['grouped']:,}",
        "taken": f"`{measured['command']}`, {measured['day']}, {measured['postgres']}, "
        f"commit {', '.join(figures['commits'])}, {hours(sum(each['all'] for each in steps.values()))}.{stopped}",
        "machine": "; ".join(figures["machines"]),
        "settings": ", ".join(f"`{name}` of {value}" for name, value in figures["settings"].items()),
        "jobs_table": jobs_table(figures), "lookups_table": lookups_table(figures),
        "truth": f"{truth:,}", "true": f"{pairs['true']:,}", "recall": f"{pairs['true'] / truth:.4f}",
        "wrong": f"{wrong:,}" if wrong else "None",
        "disk": size(max(each["disk"] for each in steps.values())),
        "disk_each": digits(max(each["disk"] for each in steps.values()) / figures["rows"]),
    })  # fmt: skip


def write(results: dict, root: Path) -> None:
    file = root / "docs" / "scaling.md"
    measured = indexes(results)
    if measured and "pairs" in results:
        put(file, "How large and how fast", *sizes_table(measured))
        put(file, "One billion documents", *billion_table(measured, results["pairs"]["figures"]))
    if "scale" in results:
        put_section(file, "A large table", run(results["scale"]))
