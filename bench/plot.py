"""Charts as SVG, with nothing but the standard library.

    chart = Chart("S-curves", "Jaccard similarity", "share found", y_range=(0, 1))
    chart.line("20 bands of 5", [(0.1, 0.0002), (0.5, 0.47), (0.9, 1.0)])
    chart.save("docs/plots/s-curves.svg")

    bars = BarChart("Lookup", "documents", "ms", ["10,000", "100,000"], y_log=True)
    bars.bars("minlsh", [0.05, 0.06])
    bars.save("lookup.svg")

The background is transparent and the colours follow the reader's light or dark
mode. A series is told apart by its dash or marker as well as by its colour. The
same figures give the same bytes.

    python3 bench/plot.py DIRECTORY      # a sample of everything, to look at
"""

import math
import sys
from html import escape
from pathlib import Path

# Blue, orange, green, purple, red, teal: told apart by the colour-blind, and with enough
# contrast on white and on near-black.
LIGHT = ("#0a5fa5", "#b85c00", "#1a7f37", "#8250df", "#cf222e", "#0b7a75")
DARK = ("#58a6ff", "#f0a04b", "#56d364", "#bc8cff", "#ff7b72", "#4dd0c8")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 2", "1 2")
FONT_SIZE = 13
LETTER = 7.0  # mean width of a letter at that size
LINE = 19


def _style() -> str:
    def colours(palette):
        return "".join(
            f".s{i}{{stroke:{c};color:{c}}}.f{i}{{fill:{c}}}" for i, c in enumerate(palette)
        )

    return (
        "<style>"
        f"text{{font:{FONT_SIZE}px system-ui,-apple-system,'Segoe UI','DejaVu Sans',sans-serif;fill:#1f2328}}"
        "text.title{font-size:15px;font-weight:600}"
        ".axis{stroke:#59636e;fill:none}.grid{stroke:#59636e;stroke-opacity:.22}"
        ".mark{stroke:#59636e;stroke-dasharray:3 3;fill:none}"
        ".line{fill:none;stroke-width:2;stroke-linejoin:round}.area{stroke:none;fill-opacity:.18}.dot{stroke:none}"
        f"{colours(LIGHT)}"
        "@media (prefers-color-scheme:dark){"
        "text{fill:#e6edf3}.axis,.mark{stroke:#9198a1}.grid{stroke:#9198a1}"
        f"{colours(DARK)}"
        "}</style>"
    )


def number(value: float) -> str:
    """A figure as short as it can be read: 0.05, 1,000, 5e-7."""
    if value == 0:
        return "0"
    size = abs(value)
    if size < 1e-4 or size >= 1e9:
        mantissa, exponent = f"{value:.3e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.')}e{int(exponent)}"
    if size >= 1000:
        return f"{value:,.0f}"
    return f"{value:.6g}"


def _nice_step(span: float, ticks: int) -> float:
    rough = span / max(1, ticks)
    power = 10.0 ** math.floor(math.log10(rough))
    return next(m * power for m in (1, 2, 2.5, 5, 10) if m * power >= rough * 0.999999)


class Axis:
    """Maps values to pixels, and chooses ticks."""

    def __init__(self, low: float, high: float, log: bool, ticks: int):
        if log and low <= 0:
            raise ValueError("a logarithmic axis shows positive values only")
        if low == high:
            low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
        self.low, self.high, self.log, self.wanted = low, high, log, ticks

    def place(self, value: float) -> float:
        """0 at the low end, 1 at the high end."""
        if self.log:
            return math.log(value / self.low) / math.log(self.high / self.low)
        return (value - self.low) / (self.high - self.low)

    def ticks(self) -> list:
        if not self.log:
            step = _nice_step(self.high - self.low, self.wanted)
            first, last = math.ceil(self.low / step - 1e-9), math.floor(self.high / step + 1e-9)
            return [round(i * step, 12) for i in range(first, last + 1)]
        decades = range(math.floor(math.log10(self.low)) - 1, math.ceil(math.log10(self.high)) + 2)
        ticks = []
        for digits in ((1,), (1, 3), (1, 2, 5), (1, 2, 3, 4, 5, 6, 7, 8, 9)):
            ticks = [
                tick
                for tick in (digit * 10.0**decade for decade in decades for digit in digits)
                if self.low * 0.999999 <= tick <= self.high * 1.000001
            ]
            if len(ticks) >= 4:
                break
        while len(ticks) > 2 * self.wanted:
            ticks = ticks[::2]
        return ticks


def _range(values: list, log: bool, given) -> tuple:
    """The range that was given (either end may be None), completed from the values."""
    values = [value for value in values if not log or value > 0] or [1.0]
    low, high = given or (None, None)
    if low is None:
        low = 10.0 ** math.floor(math.log10(min(values)) + 1e-9) if log else min(values)
    if high is None:
        high = max(values)
        if log:
            high = 10.0 ** math.ceil(math.log10(high) - 1e-9)
        elif high > low:
            step = _nice_step(high - low, 6)
            high = math.ceil(high / step - 1e-9) * step
    return low, high


class _Drawing:
    """Frame, axes, grid and legend; the subclasses draw the data."""

    def __init__(self, title, x_label, y_label, width, height, description):
        self.title, self.x_label, self.y_label = title, x_label, y_label
        self.width, self.height = width, height
        self.description = description or f"{y_label} against {x_label}"
        self.names = []  # (kind, series number, name) of the legend

    def _frame(self, y_axis: Axis, last_label: str = "") -> None:
        y_labels = max((len(number(tick)) for tick in y_axis.ticks()), default=1)
        self.left = 36 + y_labels * LETTER
        self.right = self.width - max(16, 6 + len(last_label) * LETTER / 2)
        self.legend_rows = self._legend_rows()
        self.top = 40 + LINE * len(self.legend_rows)
        self.bottom = self.height - 52

    def _legend_rows(self) -> list:
        """The legend's entries, in rows below the title."""
        rows, used = [], math.inf
        for entry in self.names:
            width = 34 + len(entry[2]) * LETTER + 16
            if used + width > self.width - self.left:
                rows.append([])
                used = 0
            rows[-1].append((used, *entry))
            used += width
        return rows

    def _y(self, y_axis: Axis, value: float) -> float:
        return self.bottom - y_axis.place(value) * (self.bottom - self.top)

    def _document(self, y_axis: Axis, x_ticks: list, body: list) -> str:
        """`x_ticks`: (pixel, label, whether it has a grid line)."""
        out = [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {self.width} {self.height}" '
            f'width="{self.width}" height="{self.height}" role="img" aria-labelledby="t d">',
            f'<title id="t">{escape(self.title)}</title>',
            f'<desc id="d">{escape(self.description)}</desc>',
            _style(),
            f'<text class="title" x="{self.left:.1f}" y="20">{escape(self.title)}</text>',
        ]
        for row, entries in enumerate(self.legend_rows):
            y = 40 + row * LINE
            for offset, kind, series, name in entries:
                x = self.left + offset
                out.append(self._key(kind, series, x, y - 4.5))
                out.append(f'<text x="{x + 34:.1f}" y="{y}">{escape(name)}</text>')
        for tick in y_axis.ticks():
            y = self._y(y_axis, tick)
            out.append(f'<line class="grid" x1="{self.left:.1f}" x2="{self.right:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
            out.append(
                f'<text x="{self.left - 7:.1f}" y="{y + 4.5:.1f}" text-anchor="end">{number(tick)}</text>'
            )
        for x, label, grid in x_ticks:
            if grid:
                out.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{self.top}" y2="{self.bottom}"/>')
            out.append(f'<text x="{x:.1f}" y="{self.bottom + 18}" text-anchor="middle">{escape(label)}</text>')
        out += body
        middle = (self.top + self.bottom) / 2
        out += [
            f'<path class="axis" d="M{self.left:.1f} {self.top}V{self.bottom}H{self.right:.1f}"/>',
            f'<text x="{(self.left + self.right) / 2:.1f}" y="{self.height - 12}" text-anchor="middle">'
            f"{escape(self.x_label)}</text>",
            f'<text transform="translate(16 {middle:.1f}) rotate(-90)" text-anchor="middle">'
            f"{escape(self.y_label)}</text>",
            "</svg>",
        ]
        return "\n".join(out) + "\n"

    def _key(self, kind: str, series: int, x: float, y: float) -> str:
        colour = series % len(LIGHT)
        if kind in ("area", "bar"):
            area = " area" if kind == "area" else ""
            return f'<rect class="f{colour}{area}" x="{x:.1f}" y="{y - 5:.1f}" width="26" height="10"/>'
        key = ""
        if kind != "points":
            key = f'<path class="line s{colour}"{_dash(series, kind)} d="M{x:.1f} {y:.1f}h26"/>'
        if kind != "line":
            key += _marker(series, x + 13, y)
        return key

    def save(self, path) -> None:
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).write_text(self.svg(), encoding="utf-8")


def _dash(series: int, kind: str) -> str:
    """Lines with markers stay solid: the marker tells them apart."""
    dash = "" if kind == "marked" else DASHES[series % len(DASHES)]
    return f' stroke-dasharray="{dash}"' if dash else ""


def _marker(series: int, x: float, y: float, size: float = 4.0) -> str:
    colour = f'class="dot f{series % len(LIGHT)}"'
    shape = series % 4
    if shape == 0:
        return f'<circle {colour} cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}"/>'
    if shape == 1:
        return f'<rect {colour} x="{x - size:.1f}" y="{y - size:.1f}" width="{2 * size:.1f}" height="{2 * size:.1f}"/>'
    s = size * 1.3
    if shape == 2:
        return f'<path {colour} d="M{x:.1f} {y - s:.1f}l{s:.1f} {2 * s * 0.85:.1f}h{-2 * s:.1f}z"/>'
    return f'<path {colour} d="M{x:.1f} {y - s:.1f}l{s:.1f} {s:.1f}l{-s:.1f} {s:.1f}l{-s:.1f} {-s:.1f}z"/>'


class Chart(_Drawing):
    """Lines, points and bands over a numeric x axis.

    `x_range` and `y_range` are (low, high); None at either end is taken from the
    data. A linear y axis starts at 0 unless told otherwise.
    """

    def __init__(self, title, x_label, y_label, *, width=720, height=420, x_log=False, y_log=False,
                 x_range=None, y_range=None, description=""):  # fmt: skip
        super().__init__(title, x_label, y_label, width, height, description)
        self.x_log, self.y_log = x_log, y_log
        self.x_range = x_range
        self.y_range = y_range or (None if y_log else (0, None))
        self.items = []  # (kind, series, points)
        self.marks = []  # (axis, value, label)

    def _add(self, kind, name, points, like):
        series = like if like is not None else len({s for k, s, _ in self.items})
        self.items.append((kind, series, points))
        if name:
            self.names.append((kind, series, name))
        return series

    def line(self, name, points, *, markers=False, like=None) -> int:
        """A line through (x, y). Returns the series' number: `like` takes the look of another."""
        return self._add("marked" if markers else "line", name, [(float(x), float(y)) for x, y in points], like)

    def points(self, name, points, *, like=None) -> int:
        """Dots at (x, y), with no line."""
        return self._add("points", name, [(float(x), float(y)) for x, y in points], like)

    def band(self, name, points, *, like=None) -> int:
        """The area between low and high of (x, low, high)."""
        return self._add("area", name, [tuple(map(float, point)) for point in points], like)

    def mark_x(self, value, label="") -> None:
        """A dashed vertical line."""
        self.marks.append(("x", float(value), label))

    def mark_y(self, value, label="") -> None:
        """A dashed horizontal line."""
        self.marks.append(("y", float(value), label))

    def svg(self) -> str:
        xs = [point[0] for _, _, points in self.items for point in points]
        ys = [y for _, _, points in self.items for point in points for y in point[1:]]
        x_axis = Axis(*_range(xs, self.x_log, self.x_range or (min(xs), max(xs))), self.x_log, 9)
        y_axis = Axis(*_range(ys, self.y_log, self.y_range), self.y_log, 6)
        self._frame(y_axis, number(x_axis.ticks()[-1]) if x_axis.ticks() else "")

        def x_of(value):
            return self.left + x_axis.place(value) * (self.right - self.left)

        body = [
            f'<clipPath id="c"><rect x="{self.left - 5:.1f}" y="{self.top - 5}" '
            f'width="{self.right - self.left + 10:.1f}" height="{self.bottom - self.top + 10}"/></clipPath>',
            '<g clip-path="url(#c)">',
        ]
        for axis, value, label in self.marks:
            if axis == "x":
                x = x_of(value)
                body.append(f'<path class="mark" d="M{x:.1f} {self.top}V{self.bottom}"/>')
                end = x > self.left + 0.8 * (self.right - self.left)
                body.append(
                    f'<text x="{x - 5 if end else x + 5:.1f}" y="{self.top + 14}" '
                    f'text-anchor="{"end" if end else "start"}">{escape(label)}</text>'
                )
            else:
                y = self._y(y_axis, value)
                body.append(f'<path class="mark" d="M{self.left:.1f} {y:.1f}H{self.right:.1f}"/>')
                label_y = y + 15 if y < self.top + 16 else y - 5
                body.append(
                    f'<text x="{self.right - 4:.1f}" y="{label_y:.1f}" text-anchor="end">{escape(label)}</text>'
                )
        # Bands lie below everything, points above.
        order = {"area": 0, "line": 1, "marked": 2, "points": 3}
        for kind, series, points in sorted(self.items, key=lambda item: order[item[0]]):
            colour = series % len(LIGHT)
            drawn = [p for p in points if (not self.x_log or p[0] > 0) and (not self.y_log or min(p[1:]) > 0)]
            if kind == "area":
                upper = " ".join(f"{x_of(x):.1f},{self._y(y_axis, high):.1f}" for x, _, high in drawn)
                lower = " ".join(f"{x_of(x):.1f},{self._y(y_axis, low):.1f}" for x, low, _ in reversed(drawn))
                body.append(f'<polygon class="area f{colour}" points="{upper} {lower}"/>')
                continue
            places = [(x_of(x), self._y(y_axis, y)) for x, y in drawn]
            if kind in ("line", "marked"):
                path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
                body.append(f'<polyline class="line s{colour}"{_dash(series, kind)} points="{path}"/>')
            if kind in ("marked", "points"):
                size = 4.0 if len(places) <= 60 else 2.2
                body += [_marker(series, x, y, size) for x, y in places]
        body.append("</g>")
        ticks = [(x_of(tick), number(tick), True) for tick in x_axis.ticks()]
        return self._document(y_axis, ticks, body)


class BarChart(_Drawing):
    """Groups of bars over categories; each bar carries its figure."""

    def __init__(self, title, x_label, y_label, categories, *, width=720, height=420, y_log=False,
                 y_range=None, figures=True, description=""):  # fmt: skip
        super().__init__(title, x_label, y_label, width, height, description)
        self.categories = [str(category) for category in categories]
        self.y_log, self.y_range, self.figures = y_log, y_range, figures
        self.series = []

    def bars(self, name, values) -> None:
        """A bar for each category; None leaves one out."""
        values = [None if value is None else float(value) for value in values]
        if len(values) != len(self.categories):
            raise ValueError(f"{name}: {len(values)} values for {len(self.categories)} categories")
        self.names.append(("bar", len(self.series), name))
        self.series.append(values)

    def svg(self) -> str:
        values = [value for values in self.series for value in values if value is not None]
        y_axis = Axis(*_range(values, self.y_log, self.y_range or (None if self.y_log else (0, None))), self.y_log, 6)
        self._frame(y_axis)
        group = (self.right - self.left) / len(self.categories)
        width = min(70.0, group * 0.8 / len(self.series))
        body, ticks = [], []
        for c, category in enumerate(self.categories):
            centre = self.left + (c + 0.5) * group
            ticks.append((centre, category, False))
            for s, series in enumerate(self.series):
                value = series[c]
                if value is None or (self.y_log and value <= 0):
                    continue
                x = centre + (s - len(self.series) / 2) * width
                y = self._y(y_axis, min(max(value, y_axis.low), y_axis.high))
                body.append(
                    f'<rect class="f{s % len(LIGHT)}" x="{x + 1:.1f}" y="{y:.1f}" '
                    f'width="{width - 2:.1f}" height="{self.bottom - y:.1f}"/>'
                )
                label = number(float(f"{value:.3g}"))
                if self.figures and len(label) * LETTER <= width + 14:
                    body.append(
                        f'<text x="{x + width / 2:.1f}" y="{y - 4:.1f}" text-anchor="middle">{label}</text>'
                    )
        return self._document(y_axis, ticks, body)


def _sample(directory: Path) -> None:
    chart = Chart("Lines, a band, points and marks", "similarity", "share found", y_range=(0, 1))
    grid = [i / 100 for i in range(101)]
    for bands, rows in ((20, 5), (12, 10), (5, 25), (50, 2)):
        chart.line(f"{bands} bands of {rows}", [(s, 1 - (1 - s**rows) ** bands) for s in grid])
    chart.band("± 1 error", [(s, max(0, s - 0.05), min(1, s + 0.05)) for s in grid])
    chart.points("measured", [(s, s * s) for s in grid[::10]])
    chart.mark_x(0.8, "0.8")
    chart.mark_y(0.99, "0.99")
    chart.save(directory / "sample-lines.svg")
    chart = Chart("Logarithmic axes", "documents", "seconds", x_log=True, y_log=True)
    sizes = [1000, 3000, 10000, 30000, 100000, 1000000]
    chart.line("pairs", [(n, n * n * 1e-9) for n in sizes], markers=True)
    chart.line("index", [(n, n * 6e-5) for n in sizes], markers=True)
    chart.save(directory / "sample-log.svg")
    for log in (False, True):
        bars = BarChart("Bars", "documents", "ms", ["1,000", "10,000", "100,000"], y_log=log)
        bars.bars("minlsh", [0.04, 0.05, 0.06])
        bars.bars("peer", [1.5, 24, None])
        bars.save(directory / f"sample-bars{'-log' if log else ''}.svg")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    _sample(Path(sys.argv[1]))
