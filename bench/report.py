"""How figures are shown: tables of Markdown, and charts."""

import re
import textwrap
from contextlib import contextmanager
from pathlib import Path

import matplotlib

matplotlib.use("svg")
# The same figures give the same file; letters stay letters, to be searched and read aloud.
matplotlib.rcParams.update({"svg.hashsalt": "minlsh", "svg.fonttype": "none", "font.size": 10})
import matplotlib.pyplot as plt  # noqa: E402

# A fenced block, with the line breaks around it.
PROGRAM = re.compile(r"(\n\n```.*?\n```(?:\n\n|$))", re.S)


def table(header: list, body: list) -> str:
    """A Markdown table: the first column to the left, figures to the right."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" + "---:|" * (len(header) - 1)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in body])


def page(template: Path, values: dict) -> str:
    """The template with its values. Prose is wrapped again, because values have lengths of their own; programs are
    not."""
    parts = PROGRAM.split(template.read_text(encoding="utf-8").format(**values))
    parts[::2] = ["\n\n".join(map(wrapped, part.split("\n\n"))) for part in parts[::2]]
    # What was not measured leaves no gap.
    return re.sub(r"\n{3,}", "\n\n", "".join(parts)) + "\n"


def wrapped(block: str) -> str:
    return block if block.strip()[:1] in "|!#-" else fill(block)


def fill(paragraph: str) -> str:
    return textwrap.fill(paragraph, 118, break_long_words=False, break_on_hyphens=False)


def digits(value: float) -> str:
    """Three digits that matter, or all before the point."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def duration(value) -> str:
    """Seconds in the unit that suits them; nothing for nothing."""
    if value is None:
        return ""
    for unit, name in ((1, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if value >= unit or name == "µs":
            return f"{digits(value / unit)} {name}"


def speed(value: float) -> str:
    """Bytes a second, as megabytes."""
    return f"{digits(value / 1e6)} MB/s"


def megabytes(value) -> str:
    return "" if value is None else f"{value / 2**20:,.0f} MB"


def size(value: float) -> str:
    """Bytes in the decimal unit that suits them, as disks are sold."""
    for unit, name in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB")):
        if value >= unit:
            return f"{digits(value / unit)} {name}"
    return f"{value:,.0f} bytes"


def hours(value: float) -> str:
    """A duration that may be long."""
    for unit, name in ((3600, "hours"), (60, "minutes")):
        if value >= 2 * unit:
            return f"{digits(value / unit)} {name}"
    return duration(value)


def times(value) -> str:
    return "" if value is None else f"{digits(value)}x"


@contextmanager
def chart(file: Path, title: str, x: str, y: str, size=(8.4, 4.2), **axes):
    """A chart to draw into, saved at the end. `axes` go to matplotlib's Axes.set()."""
    figure, ax = plt.subplots(figsize=size, layout="constrained")
    ax.set(title=title, xlabel=x, ylabel=y)
    ax.grid(alpha=0.3)
    yield ax
    ax.set(**axes)
    if ax.get_legend_handles_labels()[0]:
        ax.legend(frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, metadata={"Date": None})
    plt.close(figure)
