"""Charts of stored results: SVG files, each of which names its result and the digest of that.

Each chart is drawn twice: narrow, so that its text can be read on a phone, and as wide as a column
of text on a laptop.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any, NamedTuple

import matplotlib as mpl
import matplotlib.pyplot as plt

from evenkey.reports.pictures import GROUPINGS, THEMES
from tools.results.stored import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from tools.results.stored import Entry


class Size(NamedTuple):
    """A size of charts.

    Parameters
    ----------
    suffix
        End of the name of the file.
    width
        Width in inches.
    text
        Size of text in points.
    """

    suffix: str
    width: float
    text: float

    def smaller(self, share: float) -> float:
        """Return the size of smaller text."""
        return share * self.text


NARROW, WIDE = Size("", 6.25, 12.5), Size("-wide", 8.6, 10.5)
FOLDER = ROOT / "docs" / "pictures"
_THEME = THEMES["light"]
_PLAIN, _OURS = "#a9b4c0", _THEME.of_run(GROUPINGS["planned"])
_NAMES = {
    "groupBy": "groupBy",
    "groupBy with adaptive skew rules": "groupBy, adaptive execution",
    "groupBy with 8 salts": "groupBy, 8 salts",
    "groupBy with W salts": "groupBy, 10 salts",
    "rebalance hint": "rebalance hint",
    "rebalance hint by key": "rebalance hint by key",
    "eks.groupBy split": "evenkey",
}
_GROUPINGS = {
    "kg": "key (kg)",
    "pkg": "partial key (pkg)",
    "dkg": "dynamic key (dkg)",
    "planned": "planned",
    "sg": "shuffle (sg)",
}


def _against_spark(printed: dict[str, Any], size: Size) -> Figure:
    """Seconds of each way, and partial results per key, on the stream with a key of 80 %."""
    rows = {each["contender"]: each for each in printed["streams"]["r80"]}
    shown = [name for name in _NAMES if name in rows]
    height = 0.3 * len(shown) * size.text / 10 + 0.8
    chart, (times, parts) = plt.subplots(1, 2, figsize=(size.width, height), sharey=True)
    labels = [_NAMES[each] for each in shown]
    colours = [_OURS if name.startswith("eks.") else _PLAIN for name in shown]
    for panel, name, form in ((times, "seconds", "{:.1f} s"), (parts, "dist_cost", "{:.2f}")):
        values = [rows[each][name] for each in shown]
        panel.barh(labels, values, color=colours)
        ends = values
        if name == "seconds":
            ends = [rows[each]["slowest"] for each in shown]
            _draw_rounds(panel, [(rows[each]["fastest"], rows[each]["slowest"]) for each in shown])
        for place, (value, end) in enumerate(zip(values, ends, strict=True)):
            panel.annotate(
                form.format(value),
                (end, place),
                xytext=(6, 0),
                textcoords="offset points",
                va="center",
                fontsize=size.smaller(0.9),
            )
        panel.spines[["top", "right", "bottom"]].set_visible(False)
        panel.set_xticks([])
        panel.set_xlim(0, 1.4 * max(values))
        panel.tick_params(axis="y", length=0)
    times.invert_yaxis()
    times.set_title("time", fontsize=size.text, loc="left")
    parts.set_title("partial results\nper key", fontsize=size.text, loc="left")
    return chart


def _draw_rounds(panel: Axes, rounds: list[tuple[float, float]]) -> None:
    """Draw a line from the fastest to the slowest round of each bar, with a stroke at both ends."""
    for place, (fastest, slowest) in enumerate(rounds):
        panel.plot([fastest, slowest], [place, place], color=_THEME.ink, linewidth=1)
        panel.vlines([fastest, slowest], place - 0.28, place + 0.28, color=_THEME.ink, linewidth=1)


def _loads(printed: dict[str, Any], size: Size) -> Figure:
    """One panel per grouping: the share of all messages on each worker, the most loaded first."""
    results = {each["grouping"]: each for each in printed["results"]}
    shown = [name for name in _GROUPINGS if name in results]
    columns = len(shown) if size is WIDE else 2
    lines = -(-len(shown) // columns)
    height = 2.7 if size is WIDE else 2.75 * lines
    chart, grid = plt.subplots(
        lines, columns, figsize=(size.width, height), sharey=True, squeeze=False
    )
    for panel in grid.flat[len(shown) :]:
        panel.remove()
    for panel, name in zip(grid.flat, shown, strict=False):
        result = results[name]
        shares = sorted((100 * load / result["messages"] for load in result["loads"]), reverse=True)
        workers = len(shares)
        panel.bar(range(1, workers + 1), shares, color=_THEME.of_run(GROUPINGS[name]))
        panel.axhline(100 / workers, color=_THEME.ink, linewidth=1, linestyle="--")
        panel.set_title(_GROUPINGS[name], fontsize=size.text)
        panel.set_xlabel(
            f"DistCost {result['dist_cost']:.2f}\n{result['messages_per_second']:,.0f} messages/s",
            fontsize=size.smaller(0.9),
        )
        panel.set_xticks([1, workers])
        panel.tick_params(labelsize=size.smaller(0.85))
        panel.spines[["top", "right"]].set_visible(False)
    first = grid.flat[0]
    label = f"mean: {100 / workers:.0f} %"
    style = {"ha": "right", "va": "bottom", "fontsize": size.smaller(0.85)}
    first.text(workers + 0.5, 1.15 * 100 / workers, label, **style)
    for each in grid[:, 0]:
        each.set_ylabel("share of messages, %", fontsize=size.smaller(0.9))
    return chart


def _cost(printed: dict[str, Any], size: Size) -> Figure:
    """Processor seconds of each operator on a batch without a hot key, beside Spark's own."""
    lines = printed["operators"]
    chart, panel = plt.subplots(figsize=(size.width, 0.62 * size.text))
    names = [each["operator"] for each in lines]
    for offset, way, label, colour in (
        (-0.2, "spark", "Spark's own", _PLAIN),
        (0.2, "evenkey", "evenkey", _OURS),
    ):
        values = [each["uniform"][way] for each in lines]
        places = [place + offset for place in range(len(lines))]
        bars = panel.barh(places, values, height=0.38, label=label, color=colour)
        panel.bar_label(
            bars, [f"{value:.1f}" for value in values], padding=3, fontsize=size.smaller(0.8)
        )
    panel.set_yticks(range(len(lines)), names, fontsize=size.smaller(0.9))
    panel.invert_yaxis()
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.set_xticks([])
    panel.margins(x=0.15)
    panel.tick_params(axis="y", length=0)
    panel.set_title("processor seconds, a million rows", fontsize=size.text, loc="left")
    panel.legend(frameon=False, fontsize=size.smaller(0.9), loc="best")
    return chart


CHARTS: dict[str, Callable[[dict[str, Any], Size], Figure]] = {
    "against-spark": _against_spark,
    "cost": _cost,
    "loads": _loads,
}


def digest(entry: Entry) -> str:
    """Identify the stored content of a result."""
    return hashlib.sha256(entry.file.read_bytes()).hexdigest()[:16]


def drawn_from(picture: Path) -> str:
    """Read from a chart the digest of its result; empty if it has none."""
    found = re.search(r"result ([0-9a-f]{16})", picture.read_text("utf-8"))
    return "" if found is None else found[1]


def pictures_of(name: str) -> dict[Size, Path]:
    """Return the files of a chart, by their sizes."""
    return {size: FOLDER / f"{name}{size.suffix}.svg" for size in (NARROW, WIDE)}


def draw(entry: Entry) -> None:
    """Draw the chart of a result, in all sizes."""
    for size, picture in pictures_of(entry.name).items():
        with mpl.rc_context(
            {"font.size": size.text, "svg.hashsalt": "evenkey", "svg.fonttype": "none"}
        ):
            chart = CHARTS[entry.name](entry.read()["printed"], size)
            chart.tight_layout()
            about = {"Date": None, "Description": f"result {digest(entry)}"}
            chart.savefig(picture, metadata=about)
            plt.close(chart)
