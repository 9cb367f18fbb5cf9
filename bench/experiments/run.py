#!/usr/bin/env python3
"""The published experiments, repeated: runs the SQL of this folder, and writes
bench/EXPERIMENTS.md and the plots in docs/plots. `make experiments` calls it beside
a private server.

    bench/experiments/run.sh                                          # in full: two minutes
    bench/experiments/run.sh --posts 100 --output build/experiments
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
from report import chart, page, table  # noqa: E402

HERE = Path(__file__).resolve().parent
COPIES, SEEDS, ROUNDS = 7, 12, 3
TABLE_4 = 200  # posts, as many files as the report's Table 4 has
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
    psql(
        text="SET client_min_messages = warning; CREATE EXTENSION IF NOT EXISTS minlsh; "
        "DROP SCHEMA IF EXISTS experiment CASCADE;"
    )
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
            families = f"{float(mean['least']):,.0f} to {float(mean['most']):,.0f}" if scheme[0] != "n" else ""
            off = [count(mean[column]) for column in ("o4", "o7", "o9")]
            body.append([name, off[0], families, *off[1:], f"{float(mean['rmse']):.4f}"])
    return table(["pairs off by more than", "0.04", "single families", "0.07", "0.09", "RMSE"], body)


def time_table(pairs: int) -> tuple:
    least = {
        (row["what"], int(row["num_perm"])): row["ms"]
        for row in rows("SELECT what, num_perm, min(milliseconds) AS ms FROM times GROUP BY what, num_perm")
    }
    body = [
        [
            f"K = {k}",
            f"{k * pairs:.4g}",
            published[0],
            *(milliseconds(least[f"matrix: {how}", k]) for how in ("permutations", "fss", "minhash_with")),
            published[1],
            milliseconds(least["estimates", k]),
        ]
        for k, published in PUBLISHED_TIME.items()
    ]
    header = ["", "slots compared", "matrix, published", "`permutations`", "`fss`", "`minhash_with`"]
    header += ["estimates, published", "ours"]
    tasks = ("exact: jaccard()", "exact: bit strings", "characteristic matrix")
    exact = {name: milliseconds(least[name, 0]) for name in tasks}
    return table(header, body), exact


def bands_rows(recall: str) -> list:
    return rows(f"SELECT * FROM bands WHERE recall IS {recall} ORDER BY bands, scheme DESC")


def bands_table(of_slots: bool = False) -> str:
    """`of_slots` adds the strangers that hashes reduced to slots of a table bring."""
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
            f"{float(row['below']):.3f}",
            f"{float(row['found']):.2f}",
            f"{float(row['false_positives']):.3f}",
            f"{float(row['false_negatives']):.3f}",
            *([f"{float(row['strangers_of_slots']):.1f}"] if of_slots else []),
        ])  # fmt: skip
    header = ["bands × rows", "found, published", "candidates by the S-curve", "scheme", "candidates",
              "of them below 0.9", "found", "false positives", "false negatives"]  # fmt: skip
    header += ["strangers, by slots"] if of_slots else []
    return table(header, body)


def chosen_table() -> str:
    body = [
        [row["recall"], f"{row['bands']} × {row['rows']}", f"`{row['scheme']}`",
         *(f"{float(row[name]):.3f}" for name in ("predicted_candidates", "candidates", "found", "false_negatives"))]
        for row in bands_rows("NOT NULL")
    ]  # fmt: skip
    header = ["recall asked for at 0.9", "bands × rows", "scheme", "candidates by the S-curve", "candidates", "found",
              "false negatives"]  # fmt: skip
    return table(header, body)


def indexed_table() -> str:
    body = [
        [f"`verify => '{row['verify']}'`, {row['threshold']}",
         *(f"{float(row[name]):.3f}" for name in ("found", "true", "false_positives"))]
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


def floats(records: list, *names) -> list:
    """Columns of numbers."""
    return [[float(record[name]) for record in records] for name in names]


def s_curves(file: Path) -> None:
    with chart(file, "The S-curve: bands × rows", "Jaccard similarity of a pair",
               "probability to become a candidate", xlim=(0, 1), ylim=(0, 1.02)) as ax:  # fmt: skip
        for bands, per_band in ((20, 5), (50, 2), (5, 20), (21, 6), (100, 12), (20, 50)):
            points = rows(
                f"SELECT s, lsh_probability(s, {bands}, {per_band}) AS p FROM generate_series(0, 1, 0.01::numeric) AS s"
            )
            ax.plot(*floats(points, "s", "p"), label=f"{bands} × {per_band}")


def estimates(file: Path) -> None:
    spread = rows("SELECT exact, permutations, fss FROM spread ORDER BY post")
    errors = rows(
        "SELECT s, greatest(0, s - 2 * minhash_error(200, s)) AS low, least(1, s + 2 * minhash_error(200, s)) AS high "
        "FROM generate_series(0, 1, 0.01::numeric) AS s ORDER BY s"
    )
    with chart(file, "Estimate against exact similarity, 200 slots", "exact Jaccard similarity", "estimate",
               size=(8.4, 5.6), xlim=(0, 1), ylim=(0, 1)) as ax:  # fmt: skip
        ax.fill_between(*floats(errors, "s", "low", "high"), alpha=0.2, label="± 2 sqrt(J (1 - J) / 200)")
        for scheme, marker in (("permutations", "o"), ("fss", "x")):
            ax.plot(*floats(spread, "exact", scheme), marker, markersize=3, label=scheme)


def recall_by_bands(file: Path) -> None:
    predicted = rows(
        "SELECT bands, sum(lsh_probability(exact, bands, 1200 / bands)) / (SELECT count(DISTINCT query) FROM truth) "
        f"/ {COPIES} AS p FROM truth, generate_series(10, 125) AS bands WHERE 1200 % bands = 0 "
        "GROUP BY bands ORDER BY bands"
    )
    with chart(file, "Recall and precision at threshold 0.9, K = 1200", "bands (of 1200 / bands rows)", "share",
               xlim=(10, 125), ylim=(0, 1.02)) as ax:  # fmt: skip
        ax.plot(*floats(predicted, "bands", "p"), label="recall by the S-curve")
        for scheme, marker in (("permutations", "o"), ("fss", "x")):
            measured = [row for row in bands_rows("NULL") if row["scheme"] == scheme]
            bands, false, true = floats(measured, "bands", "false_negatives", "true")
            ax.plot(bands, [1 - f / t for f, t in zip(false, true)], marker, label=f"recall, {scheme}")
            bands, false, found = floats(measured, "bands", "false_positives", "found")
            ax.plot(bands, [1 - f / t for f, t in zip(false, found)], marker, mfc="none", label=f"precision, {scheme}")
        published = [found / COPIES for found in PUBLISHED_FOUND.values()]
        ax.plot(list(PUBLISHED_FOUND), published, "s--", label="recall, published")


def plots(directory: Path) -> None:
    s_curves(directory / "s-curves.svg")
    estimates(directory / "estimates.svg")
    recall_by_bands(directory / "bands.svg")


def processor() -> str:
    with open("/proc/cpuinfo", encoding="utf-8") as file:
        names = (line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
        return next(names, "unknown processor")


def written(posts: int, table_4: str) -> str:
    facts = rows(
        "SELECT count(*) AS documents, round(avg(cardinality(terms))) AS terms, "
        "(SELECT count(*) FROM term_numbers) AS vocabulary, "
        "(SELECT count(*) FROM pairs) AS pairs, (SELECT round(avg(exact)::numeric, 3) FROM pairs) AS strangers, "
        "(SELECT round(max(exact)::numeric, 2) FROM pairs) AS closest, "
        "(SELECT round(avg(exact)::numeric, 3) FROM truth) AS copies, "
        "(SELECT round(min(exact)::numeric, 3) FROM truth) AS farthest, "
        "(SELECT count(*) FROM truth WHERE exact < 0.9) AS below, (SELECT count(*) FROM truth) AS all_copies, "
        "(SELECT sum(a.size + b.size) FROM (SELECT id, cardinality(numbers) AS size FROM posts "
        "WHERE copy = 0) AS a JOIN (SELECT id, cardinality(numbers) AS size FROM posts WHERE copy = 0) AS b "
        "ON a.id < b.id) AS steps FROM posts"
    )[0]
    times, exact = time_table(int(facts["pairs"]))
    server = one("SHOW server_version").split(" ")[0]
    values = {
        **{name: f"{int(value):,}" if value.isdigit() else value for name, value in facts.items()},
        "posts": f"{posts:,}", "seeds": SEEDS, "rounds": ROUNDS,
        "machine": f"{processor()}, one core, PostgreSQL {server}",
        "accuracy_table": accuracy_table(), "time_table": times, "bands_table": bands_table(),
        "chosen_table": chosen_table(), "indexed_table": indexed_table(), "queries_table": queries_table(),
        "exact_jaccard": exact["exact: jaccard()"], "exact_bits": exact["exact: bit strings"],
        "bit_matrix": exact["characteristic matrix"], "table_4": table_4, "table_4_posts": TABLE_4,
        "exact_steps": f"{float(facts['steps']):.2g}",
    }  # fmt: skip
    return page(HERE / "experiments.md.in", values)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--posts", type=int, default=1001)
    parser.add_argument("--output", type=Path, metavar="DIRECTORY")
    arguments = parser.parse_args()
    if arguments.posts < 60:
        parser.error("--posts must be at least 60")
    # The small collection first: what it leaves is replaced by the large one.
    experiment(min(TABLE_4, arguments.posts))
    table_4 = bands_table(of_slots=True)
    experiment(arguments.posts)
    plots((arguments.output or ROOT / "docs") / "plots")
    file = (arguments.output or ROOT / "bench") / "EXPERIMENTS.md"
    file.write_text(written(arguments.posts, table_4), encoding="utf-8")
    print(f"# written: {file} and plots", file=sys.stderr)


if __name__ == "__main__":
    main()
