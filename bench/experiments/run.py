#!/usr/bin/env python3
"""The published experiments, repeated: runs the SQL of this folder, and writes
docs/experiments.md and the plots in docs/plots. `make experiments` calls it beside
a private server; it needs psql and Python's standard library.

    bench/server.sh python3 bench/experiments/run.py              # in full: two minutes
    bench/server.sh python3 bench/experiments/run.py --posts 100 --output build/experiments
"""

import argparse
import csv
import io
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
from plot import Chart  # noqa: E402

HERE = Path(__file__).resolve().parent
COPIES, SEEDS, ROUNDS = 7, 12, 3
# What the course project's report prints.
PUBLISHED_OFF = {400: ("7,077", "15", "0.33"), 600: ("1,225", "0.2", "0"), 800: ("739", "0", "0")}
PUBLISHED_TIME = {150: ("14 s", "2.9 s"), 350: ("209 s", "10.4 s"), 600: ("654 s", "18.4 s")}
PUBLISHED_FOUND = {15: 1.04, 20: 2.35, 30: 4.13, 60: 5.43, 100: 5.72, 120: 5.85}


def psql(*arguments, text="") -> str:
    command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", *arguments]
    done = subprocess.run(command, input=text, text=True, stdout=subprocess.PIPE)
    if done.returncode:
        sys.exit(f"psql failed: {text[:200]}")
    return done.stdout


def rows(query: str) -> list:
    """The rows of a query, as dicts of text."""
    printed = psql("--csv", text=f"SET search_path = experiment, public; {query};")
    return list(csv.DictReader(io.StringIO(printed)))


def one(query: str) -> str:
    return next(iter(rows(query)[0].values()))


def experiment(posts: int) -> None:
    psql(text="SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS minlsh; DROP SCHEMA IF EXISTS experiment CASCADE;")
    settings = (
        f"SET client_min_messages = warning; SET experiment.posts = {posts}; SET experiment.copies = {COPIES}; "
        f"SET experiment.seeds = {SEEDS}; SET experiment.rounds = {ROUNDS};"
    )
    for name in ("posts", "accuracy", "time", "bands"):
        start = time.monotonic()
        psql(text=f"{settings}\n\\o /dev/null\n\\i {HERE / name}.sql\n")
        print(f"# {name}: {time.monotonic() - start:.0f} s", file=sys.stderr, flush=True)


def count(value) -> str:
    """A mean of counts: whole if large, with the digits that matter if small."""
    value = float(value)
    if value == 0:
        return "0"
    if value >= 100:
        return f"{value:,.0f}"
    if value >= 0.1:
        return f"{value:.1f}"
    return f"{value:.2f}" if value >= 0.005 else "0.00"


def milliseconds(value) -> str:
    value = float(value)
    return f"{value / 1000:.1f} s" if value >= 1000 else f"{value:.0f} ms"


def table(header, body) -> str:
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in body])


def accuracy_table() -> str:
    means = rows(
        "SELECT scheme, num_perm, avg(over_04) AS o4, avg(over_07) AS o7, avg(over_09) AS o9, avg(rmse) AS rmse, "
        "min(over_04) AS least, max(over_04) AS most "
        "FROM accuracy GROUP BY scheme, num_perm"
    )
    body = []
    for k, published in PUBLISHED_OFF.items():
        body.append([f"K = {k}: published, its own posts", published[0], "", *published[1:], ""])
        for scheme in ("normal approximation", "permutations", "fss"):
            mean = next(m for m in means if m["scheme"] == scheme and int(m["num_perm"]) == k)
            name = f"expected by the {scheme}" if scheme.startswith("normal") else f"`{scheme}`"
            families = "" if scheme.startswith("normal") else f"{float(mean['least']):,.0f} to {float(mean['most']):,.0f}"
            off = [count(mean[column]) for column in ("o4", "o7", "o9")]
            body.append([name, off[0], families, *off[1:], f"{float(mean['rmse']):.4f}"])
    return table(["pairs off by more than", "0.04", "single families", "0.07", "0.09", "RMSE"], body)


def time_table() -> tuple:
    least = {
        (row["what"], int(row["num_perm"])): row["ms"]
        for row in rows("SELECT what, num_perm, min(milliseconds) AS ms FROM times GROUP BY what, num_perm")
    }
    body = [
        [
            f"K = {k}",
            published[0],
            *(milliseconds(least[f"matrix: {how}", k]) for how in ("permutations", "fss", "minhash_with")),
            published[1],
            milliseconds(least["estimates", k]),
        ]
        for k, published in PUBLISHED_TIME.items()
    ]
    header = ["", "matrix, published", "`permutations`", "`fss`", "`minhash_with`", "estimates, published", "ours"]
    exact = {name: milliseconds(least[name, 0]) for name in ("exact: jaccard()", "exact: bit strings", "characteristic matrix")}
    return table(header, body), exact


def bands_rows(recall: str) -> list:
    return rows(f"SELECT * FROM bands WHERE recall IS {recall} ORDER BY bands, scheme DESC")


def bands_table() -> str:
    body = []
    for row in bands_rows("NULL"):
        bands = int(row["bands"])
        first = row["scheme"] == "permutations"
        body.append([
            f"{bands} × {row['rows']}" if first else "",
            f"{PUBLISHED_FOUND[bands]:.2f}" if first else "",
            f"{float(row['predicted_candidates']):.2f}" if first else "",
            f"`{row['scheme']}`",
            f"{float(row['candidates']):.2f}",
            f"{float(row['found']):.2f}",
            f"{float(row['false_positives']):.3f}",
            f"{float(row['false_negatives']):.3f}",
        ])  # fmt: skip
    header = ["bands × rows", "found, published", "candidates by the S-curve", "scheme", "candidates", "found",
              "false positives", "false negatives"]  # fmt: skip
    return table(header, body)


def chosen_table() -> str:
    body = [
        [row["recall"], f"{row['bands']} × {row['rows']}", f"`{row['scheme']}`", f"{float(row['predicted_candidates']):.3f}",
         f"{float(row['candidates']):.3f}", f"{float(row['found']):.3f}", f"{float(row['false_negatives']):.3f}"]
        for row in bands_rows("NOT NULL")
    ]  # fmt: skip
    header = ["recall asked for at 0.9", "bands × rows", "scheme", "candidates by the S-curve", "candidates", "found", "false negatives"]
    return table(header, body)


def indexed_table() -> str:
    body = [
        [f"`verify => '{row['verify']}'`, {row['threshold']}", f"{float(row['found']):.3f}", f"{float(row['true']):.3f}",
         f"{float(row['false_positives']):.3f}"]
        for row in rows("SELECT * FROM indexed ORDER BY threshold DESC, verify DESC")
    ]  # fmt: skip
    return table(["`near_duplicates`", "found", "near-duplicates there are", "false positives"], body)


def queries_table() -> str:
    found = {row["method"]: float(row["found"]) for row in rows("SELECT method, found FROM queries")}
    names = {
        "permutations": "100 bands, `permutations`, 0.9",
        "fss": "100 bands, `fss`, 0.9",
        "index, signature, 0.9": "index, 0.9",
        "index, exact, 0.9": "index, 0.9, `verify => 'exact'`",
        "index, exact, 0.88": "index, 0.88, `verify => 'exact'`",
    }
    body = [["published", "6.7"], *([name, f"{found[method]:.1f}"] for method, name in names.items())]
    return table(["ten queries", "found of 7"], body)


def plots(directory: Path) -> None:
    choices = ((20, 5), (50, 2), (5, 20), (21, 6), (100, 12), (20, 50))
    chart = Chart(
        "The S-curve: bands × rows", "Jaccard similarity of a pair", "probability to become a candidate",
        x_range=(0, 1), y_range=(0, 1), description="1 - (1 - s^r)^b for several numbers of bands b and rows r",
    )  # fmt: skip
    for bands, per_band in choices:
        points = rows(
            f"SELECT s, lsh_probability(s, {bands}, {per_band}) AS p FROM generate_series(0, 1, 0.01::numeric) AS s ORDER BY s"
        )
        chart.line(f"{bands} × {per_band}", [(point["s"], point["p"]) for point in points])
    chart.save(directory / "s-curves.svg")

    chart = Chart(
        "Estimate against exact similarity, 200 slots", "exact Jaccard similarity", "estimate",
        x_range=(0, 1), y_range=(0, 1), height=520, description="500 pairs; nearly all estimates lie within two standard errors",
    )  # fmt: skip
    spread = rows("SELECT exact, permutations, fss FROM spread ORDER BY post")
    band = rows(
        "SELECT s, greatest(0, s - 2 * minhash_error(200, s)) AS low, least(1, s + 2 * minhash_error(200, s)) AS high "
        "FROM generate_series(0, 1, 0.01::numeric) AS s ORDER BY s"
    )
    chart.points("permutations", [(row["exact"], row["permutations"]) for row in spread])
    chart.points("fss", [(row["exact"], row["fss"]) for row in spread])
    chart.band("± 2 sqrt(J (1 - J) / 200)", [(row["s"], row["low"], row["high"]) for row in band])
    chart.save(directory / "estimates.svg")

    chart = Chart(
        "Recall and precision at threshold 0.9, K = 1200", "bands (of 1200 / bands rows)", "share",
        y_range=(0, 1), x_range=(10, 125), description="Recall rises with the number of bands as the S-curve predicts; precision stays near 1",
    )  # fmt: skip
    measured = bands_rows("NULL")

    def of(scheme, share):
        return [(row["bands"], share(row)) for row in measured if row["scheme"] == scheme]

    def recall(row):
        return 1 - float(row["false_negatives"]) / float(row["true"])

    chart.line("recall by the S-curve", [
        (row["bands"], float(row["p"]) / COPIES) for row in rows(
            "SELECT bands, sum(lsh_probability(exact, bands, 1200 / bands)) / (SELECT count(DISTINCT query) FROM truth) AS p "
            "FROM truth, generate_series(10, 125) AS bands WHERE 1200 % bands = 0 GROUP BY bands ORDER BY bands")
    ])  # fmt: skip
    chart.points("recall, permutations", of("permutations", recall))
    chart.points("recall, fss", of("fss", recall))
    chart.points("precision, fss", of("fss", lambda row: 1 - float(row["false_positives"]) / float(row["found"])))
    chart.line("recall, published", [(bands, found / COPIES) for bands, found in PUBLISHED_FOUND.items()], markers=True)
    chart.save(directory / "bands.svg")


def processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "unknown processor")


def page(posts: int) -> str:
    facts = rows(
        "SELECT count(*) AS documents, round(avg(cardinality(terms))) AS terms, (SELECT count(*) FROM term_numbers) AS vocabulary, "
        "(SELECT count(*) FROM pairs) AS pairs, (SELECT round(avg(exact)::numeric, 3) FROM pairs) AS strangers, "
        "(SELECT round(max(exact)::numeric, 2) FROM pairs) AS closest, "
        "(SELECT round(avg(exact)::numeric, 3) FROM truth) AS copies, (SELECT round(min(exact)::numeric, 3) FROM truth) AS farthest, "
        "(SELECT count(*) FROM truth WHERE exact < 0.9) AS below, (SELECT count(*) FROM truth) AS all_copies FROM posts"
    )[0]
    template = (HERE / "experiments.md.in").read_text(encoding="utf-8")
    times, exact = time_table()
    server = one("SHOW server_version").split(" ")[0]
    values = {
        **{name: f"{int(value):,}" if value.isdigit() else value for name, value in facts.items()},
        "posts": f"{posts:,}", "seeds": SEEDS, "rounds": ROUNDS, "machine": f"{processor()}, one core, PostgreSQL {server}",
        "accuracy_table": accuracy_table(), "time_table": times, "bands_table": bands_table(),
        "chosen_table": chosen_table(), "indexed_table": indexed_table(), "queries_table": queries_table(),
        "exact_jaccard": exact["exact: jaccard()"], "exact_bits": exact["exact: bit strings"],
        "bit_matrix": exact["characteristic matrix"],
    }  # fmt: skip
    return template.format(**values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--posts", type=int, default=1001)
    parser.add_argument("--output", type=Path, default=ROOT / "docs", metavar="DIRECTORY")
    arguments = parser.parse_args()
    if arguments.posts < 60:
        parser.error("--posts must be at least 60")
    experiment(arguments.posts)
    plots(arguments.output / "plots")
    (arguments.output / "experiments.md").write_text(page(arguments.posts), encoding="utf-8")
    print(f"# written: {arguments.output / 'experiments.md'} and plots", file=sys.stderr)


if __name__ == "__main__":
    main()
