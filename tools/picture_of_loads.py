"""Draw the loads of a comparison: ``picture_of_loads.py COMPARISON.json PICTURE.svg``.

COMPARISON.json contains the output of ``evenkey compare ... --json``.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

NAMES = {
    "kg": "key (kg)",
    "pkg": "partial key (pkg)",
    "dkg": "dynamic key (dkg)",
    "planned": "planned",
    "sg": "shuffle (sg)",
}
COLOURS = {
    "kg": "#b5424a",
    "pkg": "#d99a3d",
    "dkg": "#3b7a9e",
    "planned": "#3f8f5f",
    "sg": "#8a8f98",
}


def main(comparison: str, picture: str) -> None:
    """Draw one panel per grouping: each worker's share of all messages, in descending order."""
    mpl.rcParams.update({"font.size": 10, "svg.hashsalt": "evenkey", "svg.fonttype": "none"})
    compared = json.loads(Path(comparison).read_text())["results"]
    results = {each["grouping"]: each for each in compared}
    shown = [name for name in NAMES if name in results]
    figure, panels = plt.subplots(1, len(shown), figsize=(12, 3.1), sharey=True)
    for panel, name in zip(panels, shown, strict=True):
        result = results[name]
        shares = sorted((100 * load / result["messages"] for load in result["loads"]), reverse=True)
        panel.bar(range(1, len(shares) + 1), shares, color=COLOURS[name])
        panel.axhline(100 / len(shares), color="#444444", linewidth=0.8, linestyle="--")
        panel.set_title(NAMES[name], fontsize=11)
        panel.set_xlabel(
            f"worker, most loaded first\nDistCost {result['dist_cost']:.2f}\n"
            f"{result['messages_per_second']:,.0f} messages/s"
        )
        panel.set_xticks(range(1, len(shares) + 1))
        panel.tick_params(axis="x", labelsize=7)
        panel.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of all messages, %")
    figure.tight_layout()
    figure.savefig(picture, metadata={"Date": None})


if __name__ == "__main__":
    main(*sys.argv[1:])
