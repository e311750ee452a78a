"""Charts of stored results: one SVG file each, which names its result and the digest of that.

Charts are five inches wide, so that their text can be read on a phone.
"""

from __future__ import annotations

import hashlib
import re
from typing import TYPE_CHECKING, Any

import matplotlib as mpl
import matplotlib.pyplot as plt

from evenkey.reports.pictures import GROUPINGS, THEMES
from tools.results.stored import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from matplotlib.figure import Figure

    from tools.results.stored import Entry

WIDTH = 5
FOLDER = ROOT / "docs" / "pictures"
_THEME = THEMES["light"]
_PLAIN, _OURS = _THEME.muted, _THEME.of_run(GROUPINGS["planned"])
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


def _against_spark(printed: dict[str, Any]) -> Figure:
    """Seconds of each way, and partial results per key, on the stream with a key of 80 %."""
    rows = {each["contender"]: each for each in printed["streams"]["r80"]}
    shown = [name for name in _NAMES if name in rows]
    chart, (times, parts) = plt.subplots(1, 2, figsize=(WIDTH, 3), sharey=True)
    colours = [_OURS if name.startswith("eks.") else _PLAIN for name in shown]
    for panel, name, form in ((times, "seconds", "{:.1f} s"), (parts, "dist_cost", "{:.2f}")):
        values = [rows[each][name] for each in shown]
        spread = None
        if name == "seconds":
            ends = [(rows[each]["fastest"], rows[each]["slowest"]) for each in shown]
            spread = [
                [value - fastest for value, (fastest, _) in zip(values, ends, strict=True)],
                [slowest - value for value, (_, slowest) in zip(values, ends, strict=True)],
            ]
        labels = [_NAMES[each] for each in shown]
        bars = panel.barh(labels, values, color=colours, xerr=spread, ecolor="#444444")
        panel.bar_label(bars, [form.format(value) for value in values], padding=3, fontsize=9)
        panel.spines[["top", "right", "bottom"]].set_visible(False)
        panel.set_xticks([])
        panel.margins(x=0.4)
        panel.tick_params(axis="y", length=0)
    times.invert_yaxis()
    times.set_title("time", fontsize=10, loc="left")
    parts.set_title("partial results\nper key", fontsize=10, loc="left")
    return chart


def _loads(printed: dict[str, Any]) -> Figure:
    """One panel per grouping: the share of all messages on each worker, the most loaded first."""
    results = {each["grouping"]: each for each in printed["results"]}
    shown = [name for name in _GROUPINGS if name in results]
    chart, grid = plt.subplots(-(-len(shown) // 2), 2, figsize=(WIDTH, 7), sharey=True)
    for panel in grid.flat[len(shown) :]:
        panel.remove()
    for panel, name in zip(grid.flat, shown, strict=False):
        result = results[name]
        shares = sorted((100 * load / result["messages"] for load in result["loads"]), reverse=True)
        panel.bar(range(1, len(shares) + 1), shares, color=_THEME.of_run(GROUPINGS[name]))
        panel.axhline(100 / len(shares), color="#444444", linewidth=0.8, linestyle="--")
        panel.set_title(_GROUPINGS[name], fontsize=11)
        panel.set_xlabel(
            f"DistCost {result['dist_cost']:.2f}\n{result['messages_per_second']:,.0f} messages/s"
        )
        panel.set_xticks(range(1, len(shares) + 1))
        panel.tick_params(axis="x", labelsize=8)
        panel.spines[["top", "right"]].set_visible(False)
    for first in grid[:, 0]:
        first.set_ylabel("share, %")
    return chart


def _cost(printed: dict[str, Any]) -> Figure:
    """Processor seconds of each operator on a batch without a hot key, beside Spark's own."""
    lines = printed["operators"]
    chart, panel = plt.subplots(figsize=(WIDTH, 6.5))
    names = [each["operator"] for each in lines]
    for offset, way, label, colour in (
        (-0.2, "spark", "Spark's own", _PLAIN),
        (0.2, "evenkey", "evenkey", _OURS),
    ):
        values = [each["uniform"][way] for each in lines]
        places = [place + offset for place in range(len(lines))]
        bars = panel.barh(places, values, height=0.38, label=label, color=colour)
        panel.bar_label(bars, [f"{value:.1f}" for value in values], padding=3, fontsize=8)
    panel.set_yticks(range(len(lines)), names, fontsize=9)
    panel.invert_yaxis()
    panel.spines[["top", "right", "bottom"]].set_visible(False)
    panel.set_xticks([])
    panel.margins(x=0.15)
    panel.tick_params(axis="y", length=0)
    panel.set_title("processor seconds, a million rows", fontsize=10, loc="left")
    panel.legend(frameon=False, fontsize=9, loc="best")
    return chart


CHARTS: dict[str, Callable[[dict[str, Any]], Figure]] = {
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


def draw(entry: Entry) -> Path:
    """Draw the chart of a result."""
    mpl.rcParams.update({"font.size": 10, "svg.hashsalt": "evenkey", "svg.fonttype": "none"})
    chart = CHARTS[entry.name](entry.read()["printed"])
    chart.tight_layout()
    picture = FOLDER / f"{entry.name}.svg"
    chart.savefig(picture, metadata={"Date": None, "Description": f"result {digest(entry)}"})
    plt.close(chart)
    return picture
