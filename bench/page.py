"""docs/benchmarks.md with its plots, and bench/FIGURES.md, from the raw figures of results.json by their templates."""

import re
from pathlib import Path
from statistics import mean

from report import chart, digits, duration, megabytes, page, speed, table, times
from sections.clusters import CHANGES, COPIES
from sections.copies import WAYS as COPIES_WAYS
from sections.files import THRESHOLDS, WAYS
from sections.ingest import MOMENTS
from sections.ingest import WAYS as INGEST_WAYS
from sections.labelled import ADVISED as LABELLED_ADVISED
from sections.labelled import BEST as LABELLED_BEST
from sections.pairs import PEERS

TEMPLATES = {"benchmarks.md": "benchmarks.md.in", "FIGURES.md": "figures.md.in"}
NOT_MEASURED = "Not measured."
# A heading with what stands below it until the next one, or the end.
UNMEASURED = re.compile(rf"^## [^\n]*\n\n{NOT_MEASURED}\n.*?(?=^## |\Z)", re.M | re.S)


def by_size(figures: dict) -> list:
    return sorted((int(count), each) for count, each in figures.items())


def over(other, own):
    """How many times the other takes; nothing if one was not measured."""
    return other / own if other is not None and own else None


def pairs_table(figures: dict) -> str:
    header = ["documents", "pairs", "minlsh", "of a scan", *PEERS]
    body = []
    for count, each in by_size(figures):
        row = [f"{count:,}", f"{each['found']:,}", duration(each["pairs"]), times(each["pairs"] / each["scan"])]
        for name in PEERS:
            ratio = over(each.get(name), each["pairs"])
            row.append(f"{duration(each[name])}, {times(ratio)}" if ratio else "")
        body.append(row)
    return table(header, body)


def corpus_table(figures: dict) -> str:
    calls = {
        "pairs": "pairs",
        "pairs of a query": "pairs of `SELECT id, body FROM docs`",
        "pairs by signature": "pairs, `verify => 'signature'`",
        "pairs with the index": "pairs, with an index there",
        "clusters": "clusters",
        "clusters with the index": "clusters, with an index there",
        "plan": "plan: what to remove",
        "scan": "scan of the table",
    }
    sizes = by_size(figures)
    body = []
    measured = {name: label for name, label in calls.items() if all(name in each for _, each in sizes)}
    for name, label in measured.items():
        row = [label] + [duration(each[name]) for _, each in sizes]
        body.append(row + [times(over(large[name], small[name])) for (_, small), (_, large) in zip(sizes, sizes[1:])])
    header = ["", *(f"{count:,}" for count, _ in sizes)]
    header += [f"growth {large / small:.0f}x" for (small, _), (large, _) in zip(sizes, sizes[1:])]
    return table(header, body)


def pairs_memory_table(figures: dict) -> str:
    body = []
    for count, each in by_size(figures):
        cells = [f"{megabytes(used)}, {used / count:,.0f} bytes" for used in each["memory"].values()]
        cells += [megabytes(each.get(f"{name}: memory")) for name in PEERS]
        body.append([f"{count:,}", *cells])
    return table(["documents", "pairs", "clusters", "plan", *PEERS], body)


def stages_table(figures: dict) -> str:
    stages = ("read", "sketch", "insert", "query")
    body = []
    for count, each in by_size(figures):
        for name in PEERS:
            if name in each:
                cells = [f"{each[f'{name}: {stage}'] / count * 1e6:,.1f}" for stage in stages]
                body.append([name, f"{count:,}", *cells, f"{each[f'{name}: pairs']:,.0f}"])
    return table(["µs per document", "documents", *stages, "pairs by estimate"], body)


def index_table(figures: dict) -> str:
    sizes = by_size(figures["sizes"])
    # pg_trgm is beside the smallest table, because it is not measured with larger ones.
    least = sizes[0][0]
    columns = [(least, "minlsh"), (least, "pg_trgm"), *((count, "minlsh") for count, _ in sizes[1:])]
    body = []

    def row(label, key, show, own="minlsh"):
        cells = []
        for count, way in columns:
            mine = figures["sizes"][str(count)][f"{own}: {key}"]
            value = mine if way == "minlsh" else figures["sizes"][str(count)].get(f"{way}: {key}")
            ratio = "" if way == "minlsh" or value is None else f", {times(value / mine)}"
            cells.append("" if value is None else show(value, count) + ratio)
        body.append([label, *cells])

    row("create, a document", "create", lambda value, count: duration(value / count))
    row("size, a document", "size", lambda value, count: f"{value / count:,.0f} bytes")
    row("memory of the build", "memory", lambda value, count: megabytes(value))
    for own, label in (("near_duplicates", "`near_duplicates(id, 0.9)`"), ("operator", "`~=` in a join")):
        for p in ("p50", "p95"):
            row(f"{label}, {p}", p, lambda value, count: duration(value), own)
    inserts = figures["inserts"]
    own = inserts["minlsh"] - inserts["no index"]
    other = inserts["pg_trgm"] - inserts["no index"]

    def single(label, rows, shown, peer=""):
        cells = [(shown if count == rows else "") if way == "minlsh" else peer for count, way in columns]
        body.append([label, *cells])

    single("COPY, a row, above the table without index", inserts["rows"], duration(own),
           f"{duration(other)}, {times(other / own)}")  # fmt: skip
    if "entries" in inserts:
        plain = inserts["entries"] - inserts["entries, no index"]
        shown = f"{duration(plain)}, {times(plain / own)}"
        single("as many entries in a plain B-tree, the same", inserts["rows"], shown)
    if load := figures.get("near_unique"):
        ratio = times(load["constraint"] / load["index"])
        shown = f"{duration(load['constraint'])}, {ratio} the index alone"
        single("texts of one template, under EXCLUDE with ON CONFLICT", load["rows"], shown)
    if reload := figures.get("reload"):
        afterwards = f"{duration(reload['dropped'])}, 1/{digits(reload['there'] / reload['dropped'])}"
        single("empty the table and COPY all rows", reload["rows"], duration(reload["there"]))
        single("the same, the index dropped before and made after", reload["rows"], afterwards)
    header = [f"{count:,}" if way == "minlsh" else "pg_trgm GIN" for count, way in columns]
    return table(["documents", *header], body)


def ingest_table(figures: dict) -> str:
    body = []
    for count, each in by_size(figures):
        for moment in MOMENTS:

            def more(way, what):
                return each[f"{way}, index, {moment}: {what}"] - each[f"{way}, plain, {moment}: {what}"]

            together, alone = (more(way, "processor") for way in INGEST_WAYS)
            written = [f"{more(way, 'wal'):,.0f} bytes" for way in INGEST_WAYS]
            cells = [duration(together), duration(alone), times(together / alone), *written]
            body.append([f"{count:,}", f"{each['rows']:,}", moment, *cells])
    cpu, wal = ([f"{what}, a row, {way}" for way in INGEST_WAYS] for what in ("CPU", "WAL"))
    return table(["documents there", "rows", "after a checkpoint", *cpu, "together of each", *wal], body)


def files_table(figures: dict) -> str:
    ways = [(verify, memory) for verify, memories in WAYS.items() for memory in memories]
    body = []
    for threshold in THRESHOLDS:
        each = [figures.get(f"minlsh, {verify}, {threshold}, {memory}") for verify, memory in ways]
        signature, small, large = each
        found = f"{figures[f'found, {threshold}']:,.0f}"
        row = [str(threshold), found, *(duration(way) if way else "" for way in each)]
        body.append([*row, times(small / signature), times(small / large) if large else ""])
    header = ["threshold", "pairs", *(f"{verify}, {memory}" for verify, memory in ways)]
    return table([*header, "exact of signature", "small memory of large"], body)


def memory_table(figures: dict) -> str:
    kinds = ("no index", "side table", "index")
    body = []
    for name, each in figures["statements"].items():
        bare = each["no index"]
        cells = [megabytes(bare), *(megabytes(max(0, each[kind] - bare)) + " more" for kind in kinds[1:])]
        body.append([name, f"{figures['rows']:,}", *cells, megabytes(figures["allowed"]) + " more"])
    for count, calls in by_size(figures["calls"]):
        for name, each in calls.items():
            allowed = figures["allowed"] + figures["per document"] * count
            body.append([name, f"{count:,}", *(megabytes(each[kind]) for kind in kinds), megabytes(allowed)])
    return table(["", "rows", *kinds, "allowed"], body)


def long_memory_table(figures: dict) -> str:
    body = []
    for texts, each in figures.get("long", {}).items():
        cells = [f"{megabytes(one['taken'])}, {max(0.0, one['multiple']):.1f}" for one in each.values()]
        body.append([texts, *cells])
    return table(["texts", "`jaccard()`", "pairs", "clusters", "plan"], body)


def faults(results: dict) -> list:
    """What took more memory than is allowed."""
    figures = results.get("memory", {}).get("figures", {})
    parts = [("", figures.get("statements", {}))]
    parts += [(f" of {count}", each) for count, each in figures.get("calls", {}).items()]
    parts += [(f" of {texts}", each) for texts, each in figures.get("long", {}).items()]
    return [name + where for where, part in parts for name, each in part.items() if not each["kept"]]


def engine_table(figures: dict) -> str:
    signatures = figures["signatures"]
    body = []
    size = 1000
    for name, value in sorted(signatures.items(), key=lambda pair: -pair[1]):
        # Work that skips the text is compared with work that skips the text.
        skips = "hashes" in name and not name.startswith("minlsh")
        own = signatures["minlsh: fss from given shingle hashes" if skips else "minlsh: fss"]
        ratio = "" if name.startswith("minlsh") else times(value / own)
        body.append([name, duration(value), speed(size / value), ratio])
    return table(["a text of 1 kB → 128 slots", "", "", "of minlsh"], body)


def library_table(figures: dict) -> str:
    stages = {"sketch": "sketch", "insert": "insert", "query": "query"}
    body = []
    for count, each in by_size(figures):
        for way in dict.fromkeys(name.split(": ")[0] for name in each):
            taken = {stage: each.get(f"{way}: {stage}") for stage in (*stages, "pairs")}
            total = sum(filter(None, taken.values()))
            least = each["Dedup: pairs"]
            cells = ["" if taken[stage] is None else duration(taken[stage] / count) for stage in stages]
            ratio = times(total / least) if total != least else ""
            body.append([way, f"{count:,}", *cells, duration(total / count), ratio, f"{each[f'{way}: found']:,.0f}"])
    return table(["", "texts", *stages.values(), "all, a text", "of Dedup", "pairs"], body)


def functions_table(figures: dict) -> str:
    floor = figures["functions"]["md5(body)"]
    body = [[f"`{name}`", duration(value), times(value / floor)] for name, value in figures["functions"].items()]
    return table(["a row of 1.5 kB in SQL", "", "of md5"], body)


def scripts_table(figures: dict) -> str:
    body = []
    for name, each in figures.items():
        row = [name, f"{each['bytes'] / each['length']:.2f}"]
        for way in ("characters", "words"):
            row += [duration(each[way]), speed(each["bytes"] / each[way]), times(each[way] / each["md5"])]
        body.append(row)
    header = ["a row of 1.5 kB", "bytes a character", "characters", "", "of md5", "words", "", "of md5"]
    return table(header, body)


def flags_table(figures: dict) -> str:
    body = []
    for name, each in figures["ways"].items():
        cells = [duration(each["seconds"]), speed(figures["bytes"] / each["seconds"])]
        body.append([name, each["asked"], *cells, f"{each['recall']:.4f}", f"{each['precision']:.4f}"])
    return table(["", "does it have", "a document", "", "recall", "precision"], body)


def recall_table(figures: dict) -> str:
    body = []
    for name, each in figures["ways"].items():
        recall, precision = each["true"] / figures["pairs"], each["true"] / max(1, each["found"])
        hard = each["hard"] / max(1, each["all hard"])
        body.append([name, f"{recall:.4f}", f"{hard:.4f}", f"{precision:.4f}"])
    return table(["", "recall", "recall of the hardest", "precision"], body)


def copies_table(figures: dict) -> str:
    ways = list(next(iter(figures["kinds"].values()))["found"])
    body = []
    for kind, each in figures["kinds"].items():
        cells = [f"{true:,}, *{wrong:,}*" for true, wrong in (each["found"][way] for way in ways)]
        body.append([kind, f"{each['documents']:,}", f"{each['true']:,}", *cells])
    return table(["", "documents", "true pairs", *ways], body)


def boilerplate_table(figures: dict) -> str:
    ways = list(COPIES_WAYS)
    body = []
    for count, each in by_size(figures["sizes"]):
        plain, without = (each[way] for way in ways)
        cells = [duration(plain), f"{duration(without)}, {times(without / plain)}"]
        body.append([f"{count:,}", *cells, *(megabytes(each.get(f"{way}: memory")) for way in ways)])
    return table(["documents", *ways, *(f"{way}: memory" for way in ways)], body)


def labelled_table(figures: dict) -> str:
    """F1 of each way for each set, and the mean of all sets."""
    ways = list(next(iter(figures.values()))["ways"])
    body = []
    for name, each in figures.items():
        cells = [f"{each['ways'][way]['f1']:.2f}" for way in ways]
        advice = each["ways"][LABELLED_ADVISED]
        at = f"{advice['options']}, {advice['at']:g}" + ("" if advice["shows"] else ", *label*")
        body.append([name, f"{each['texts']:,}", f"{each['pairs']:,}", at, *cells])
    means = [f"**{mean([each['ways'][way]['f1'] for each in figures.values()]):.2f}**" for way in ways]
    body.append(["mean", "", "", "", *means])
    return table(["", "texts", "pairs", "advice", *ways], body)


def labelled_seconds_table(figures: dict) -> str:
    ways = [way for way in next(iter(figures.values()))["ways"] if way != LABELLED_BEST]
    body = [[name, *(duration(each["ways"][way]["seconds"]) for way in ways)] for name, each in figures.items()]
    return table(["CPU time", *ways], body)


def threads_table(figures: dict) -> str:
    body = []
    for corpus, each in figures.items():
        for name in dict.fromkeys(key.split(": ")[0] for key in each):
            one, two = each[f"{name}: 1"], each[f"{name}: 2"]
            # Of the time t = serial + parallel, two threads leave serial + parallel / 2.
            serial = max(0.0, 2 * two - one) / one
            cells = [duration(one), duration(two), times(one / two), f"{serial:.0%}"]
            body.append([corpus, name, *cells, *(times(1 / (serial + (1 - serial) / cores)) for cores in (8, 16))])
    return table(["", "", "1 thread", "2 threads", "", "serial", "8, computed", "16, computed"], body)


def two_texts_table(figures: dict) -> str:
    ways = {
        "large: minlsh": "`shared_passages()` of two texts of 10 MB",
        "large: suffix array": "a suffix array of both, and the lengths of common prefixes",
        "large: md5": "`md5()` of both",
        "small: minlsh": "`shared_passages()` of two texts of 20 kB",
        "small: difflib": "Python's difflib",
    }
    body = []
    for name, label in ways.items():
        own = figures[name.split(": ")[0] + ": minlsh"]
        ratio = "" if name.endswith("minlsh") else times(figures[name] / own)
        body.append([label, duration(figures[name]), ratio])
    return table(["half of each is in the other", "", "of shared_passages"], body)


def passages_table(figures: dict) -> str:
    body = []
    kilobytes = figures["bytes"] / 1000
    shows = {
        "create": ("create, a kB of text", lambda value: duration(value / kilobytes)),
        "size": ("size, a kB of text", lambda value: f"{digits(value / kilobytes)} bytes"),
        "p50": ("search, p50", duration),
        "p95": ("search, p95", duration),
    }
    for key, (label, show) in shows.items():
        own, other = figures[f"minlsh: {key}"], figures[f"pg_trgm: {key}"]
        body.append([label, show(own), f"{show(other)}, {times(other / own)}"])
    body.append(["size with `min_match = 200`, a kB", f"{digits(figures['minlsh, 200: size'] / kilobytes)} bytes", ""])
    ratio = figures["passage_hashes(body)"] / figures["md5(body)"]
    body.append(["`passage_hashes(body)` of `md5(body)`", times(ratio), ""])
    return table(["", "minlsh, `~>`", "pg_trgm GIN, `LIKE`"], body)


def passage_jobs_table(figures: dict) -> str:
    floor = figures["job: near_duplicate_pairs"]
    jobs = {name.removeprefix("job: "): value for name, value in figures.items() if name.startswith("job: ")}
    body = [[name, duration(value), times(value / floor)] for name, value in jobs.items()]
    return table(["", "", "of near_duplicate_pairs"], body)


def clusters_table(figures: dict) -> str:
    sizes = by_size(figures)
    body = [
        ["job over all documents", *(duration(each["job"]) for _, each in sizes)],
        ["first refresh, with its writes", *(compared(each["first"], each["job"]) for _, each in sizes)],
        ["full refresh without a change", *(compared(each["full"], each["job"]) for _, each in sizes)],
        ["refresh with nothing to do", *(duration(each["nothing"]) for _, each in sizes)],
    ]
    kinds = {"inserted": "inserted, each a copy of another", "deleted": "deleted", "changed": "changed"}
    for changes in CHANGES:
        for kind, label in kinds.items():
            cells = [of_changes(each, f"{kind}: {changes}") for _, each in sizes]
            body.append([f"after {changes:,} rows were {label}", *cells])
    for name, label in {"beside": "a row was inserted beside", "deleted": "one was deleted of"}.items():
        body.append([f"after {label} {COPIES:,} copies", *(of_changes(each, f"copies: {name}") for _, each in sizes)])
    body += [
        ["DELETE, a row", *(duration(each["not captured"]) for _, each in sizes)],
        ["with capture", *(duration(each["captured"]) for _, each in sizes)],
        ["`near_duplicates(id)`, median", *(duration(each["near_duplicates"]) for _, each in sizes)],
        ["`near_duplicate_cluster_of(id)`", *(duration(each["near_duplicate_cluster_of"]) for _, each in sizes)],
        ["bytes for a member, without the log", *(f"{each['bytes'] / each['members']:,.0f}" for _, each in sizes)],
    ]
    return table(["", *(f"{count:,} documents" for count, _ in sizes)], body)


def export_table(figures: dict) -> str:
    labels = {"statement": "the statement", "program": "the program"}
    body = []
    total = {name: figures[f"{name}: own"] + figures[f"{name}: sessions"] for name in labels}
    for name, label in labels.items():
        ratio = "" if name == "statement" else times(total[name] / total["statement"])
        cells = [duration(total[name]), ratio, duration(figures[f"{name}: clock"])]
        body.append([label, *cells, f"{figures[f'{name}: pairs']:,}"])
    return table([f"{figures['documents']:,} documents", "CPU", "", "clock", "pairs"], body)


def tools_table(figures: dict) -> str:
    body = []
    own = figures["ways"]["minlsh"]
    for name, each in figures["ways"].items():
        row = [name]
        for step in ("first", "second"):
            taken, least = (way[f"{step}: own"] + way[f"{step}: sessions"] for way in (each, own))
            ratio = "" if name.startswith("minlsh") else f", {times(taken / least)}"
            row += [f"{duration(taken)}{ratio}", duration(each[f"{step}: clock"])]
        row += [f"{each['second: disk']:,.0f} bytes", f"{each['second: recall']:.4f}", f"{each['second: wrong']:,.0f}"]
        body.append(row)
    body += [[name, reason, *[""] * 6] for name, reason in figures["missing"].items()]
    rows = figures["rows"]
    first, later = f"{rows['first']:,} rows", f"{rows['second'] - rows['first']:,} more"
    header = [f"{first}: CPU", "clock", f"{later}: CPU", "clock", "disk, a document", "recall", "wrong pairs"]
    return table(["", *header], body)


def processor(measured: dict) -> str:
    """The model, and which vector instructions it has."""
    return measured["machine"].partition(", ")[0]


def beside_former(former: dict | None, measured: dict) -> dict:
    """A new measurement of a section, with the last one of each other processor."""
    elsewhere = {}
    if former:
        elsewhere = {**former.pop("elsewhere", {}), processor(former): former}
        elsewhere.pop(processor(measured), None)
    return {**measured, "elsewhere": elsewhere}


def on_processors(results: dict, section: str) -> dict:
    """The figures of a section by processor."""
    measured = results.get(section)
    if not measured:
        return {}
    return {processor(each): each["figures"] for each in (measured, *measured.get("elsewhere", {}).values())}


def processors_table(results: dict) -> str:
    """A few figures on each processor on which they were measured."""

    def functions(name):
        return lambda figures: figures["functions"][name]

    def largest(figures, key):
        return max((int(count), each[key] / int(count)) for count, each in figures.items() if key in each)[1]

    rows = {
        "`md5(body)`, a row of 1.5 kB": ("engine", functions("md5(body)")),
        "`minhash(body)`, a row of 1.5 kB": ("engine", functions("minhash(body)")),
        "all pairs of a table, a document": ("pairs", lambda figures: largest(figures, "pairs")),
        "`CREATE INDEX`, a document": ("index", lambda figures: largest(figures["sizes"], "minlsh: create")),
        "COPY, a row, more than without an index": (
            "index", lambda figures: figures["inserts"]["minlsh"] - figures["inserts"]["no index"]
        ),
    }  # fmt: skip
    columns = sorted({name for section, _ in rows.values() for name in on_processors(results, section)})
    body = []
    for label, (section, of) in rows.items():
        found = {name: of(figures) for name, figures in on_processors(results, section).items()}
        body.append([label, *(duration(found.get(name)) for name in columns)])
    engine = on_processors(results, "engine")
    ratios = [over(functions("minhash(body)")(engine[name]), functions("md5(body)")(engine[name]))
              if name in engine else None for name in columns]  # fmt: skip
    body.insert(2, ["`minhash(body)` of `md5(body)`", *map(times, ratios)])
    return table(["", *columns], body)


def of_changes(each: dict, name: str) -> str:
    taken = each.get(f"{name}: taken")
    if taken is None:
        return ""
    return compared(taken, each["job"]) + (", all documents" if each[f"{name}: full"] else "")


def compared(taken: float, job: float) -> str:
    """A duration, and what part of the job it is."""
    part = f"1/{digits(job / taken)}" if taken < job else times(taken / job)
    return f"{duration(taken)}, {part}"


def plots(results: dict, directory: Path) -> None:
    if "pairs" in results:
        sizes = by_size(results["pairs"]["figures"])
        file = directory / "bench-growth.svg"
        with chart(file, "From a table to its pairs at 0.9, one core", "documents", "seconds") as ax:
            lines = {"pairs": "minlsh", "scan": "scan of the table", **{name: name for name in PEERS}}
            for name, label in lines.items():
                points = [(count, each[name]) for count, each in sizes if name in each]
                if points:
                    ax.loglog(*zip(*points), marker="o", label=label)
    if "index" in results:
        sizes = by_size(results["index"]["figures"]["sizes"])
        file = directory / "bench-lookups.svg"
        ways = {"near_duplicates": "near_duplicates(id, 0.9)", "operator": "~=", "pg_trgm": "pg_trgm, %"}
        with chart(file, "A lookup, median", "documents", "milliseconds") as ax:
            for name, label in ways.items():
                points = [(count, each[f"{name}: p50"] * 1e3) for count, each in sizes if f"{name}: p50" in each]
                if points:
                    ax.loglog(*zip(*points), marker="o", label=label)


TABLES = {
    "pairs": {"pairs_table": pairs_table, "corpus_table": corpus_table, "pairs_memory_table": pairs_memory_table,
              "stages_table": stages_table},
    "index": {"index_table": index_table},
    "ingest": {"ingest_table": ingest_table},
    "files": {"files_table": files_table},
    "memory": {"memory_table": memory_table, "long_memory_table": long_memory_table},
    "engine": {"engine_table": engine_table, "functions_table": functions_table},
    "library": {"library_table": library_table},
    "scripts": {"scripts_table": scripts_table},
    "flags": {"flags_table": flags_table},
    "recall": {"recall_table": recall_table},
    "copies": {"copies_table": copies_table, "boilerplate_table": boilerplate_table},
    "labelled": {"labelled_table": labelled_table, "labelled_seconds_table": labelled_seconds_table},
    "threads": {"threads_table": threads_table},
    "passages": {"two_texts_table": two_texts_table, "passages_table": passages_table,
                 "passage_jobs_table": passage_jobs_table},
    "clusters": {"clusters_table": clusters_table},
    "export": {"export_table": export_table},
    "tools": {"tools_table": tools_table},
}  # fmt: skip


def rounds(measured: dict) -> str:
    """How often a section was measured."""
    if measured["rounds"] == 1:
        return "one round"
    once = measured["once"]
    return f"medians of {measured['rounds']} rounds" + (f" (one round: {', '.join(once)})" if once else "")


def write(results: dict, docs: Path, bench: Path) -> None:
    values = {}
    for section, tables in TABLES.items():
        measured = results.get(section)
        taken = NOT_MEASURED
        if measured:
            taken = (
                f"`{measured['command']}`, {measured['day']}, {processor(measured)}, {measured['postgres']}, commit "
                f"{measured['commit']}, {rounds(measured)}, {measured['minutes']:.1f} minutes."
            )
        values[f"{section}_taken"] = taken
        for name, show in tables.items():
            values[name] = show(measured["figures"]) if measured and measured["figures"] else ""
    machines = sorted({measured["machine"] for measured in results.values()})
    files, recall = (results.get(name, {}).get("figures", {}) for name in ("files", "recall"))
    values["machine"] = "; ".join(machines)
    values["processors_table"] = processors_table(results)
    values["files"] = f"{files.get('documents', 0):,} files of {files.get('characters', 0):,.0f} characters on average"
    passages = results.get("passages", {}).get("figures", {})
    values["passages_files"] = f"{passages.get('documents', 0):,} files, {megabytes(passages.get('bytes', 0))}"
    values["few_files"] = f"{passages.get('few', 0):,}"
    pairs = results.get("tools", {}).get("figures", {}).get("pairs", {})
    values["tools_pairs"], values["tools_char_pairs"] = (f"{pairs.get(unit, 0):,}" for unit in ("word", "char"))
    values["truth"] = f"{recall.get('pairs', 0):,} pairs of {recall.get('documents', 0):,} documents"
    values["side_table"] = f"{recall.get('side table', 0):,.0f} bytes"
    plots(results, docs / "plots")
    for folder, (name, template) in zip((docs, bench), TEMPLATES.items()):
        text = UNMEASURED.sub("", page(Path(__file__).resolve().parent / template, values))
        (folder / name).write_text(text, encoding="utf-8")
