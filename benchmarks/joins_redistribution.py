"""Check that redistribution does not stop the stream: time the epoch after partitions move.

A redistribution is forced in the middle of each run. The distributor itself moves partitions in its
second epoch, while epochs still get faster from one to the next. So each run has a twin on the same
publications in which nothing moves. The epoch after a move may take as long as the same epoch of
the twin or the longest usual epoch of its own run, whichever is longer, plus the time to load the
moved partitions one after the other on one core.

    python benchmarks/joins_redistribution.py          # about four minutes
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from typing import Any

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

from evenkey.papers.publish_subscribe import JoinConfig, run_join


def figures(config: JoinConfig, rounds: int) -> list[dict[str, Any]]:
    """Return a row per redistribution."""
    run_join(config)  # warms up: starts processes, and lets Spark compile its code
    rows = []
    for number in range(rounds):
        moving = run_join(config.with_options(seed=number)).to_json()
        still = run_join(
            config.with_options(seed=number, mode="static-stal", force_redistribution=None)
        ).to_json()
        for each in moving["redistributions"]:
            twin = still["epoch_duration_ms"][each["epoch"]]
            most = max(each["usual_epoch_duration_ms"]["max"], twin) + 1000 * each["load_seconds"]
            moved = len(each["moved_partitions"])
            row = {**each, "round": number, "moved": moved, "twin_ms": twin, "at_most_ms": most}
            rows.append({**row, "holds": each["epoch_duration_ms"] <= most})
    return rows


def summary(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return medians and counts over all redistributions; times are in ms."""
    over = [each["epoch_duration_ms"] / each["twin_ms"] for each in rows]
    cost = [each["epoch_duration_ms"] - each["twin_ms"] for each in rows]
    return {
        "redistributions": len(rows),
        "moved_partitions": statistics.median(each["moved"] for each in rows),
        "load_ms": statistics.median(1000 * each["load_seconds"] for each in rows),
        "over_twin": statistics.median(over),
        "over_twin_quartiles": statistics.quantiles(over, n=4)[::2],
        "beyond_twin_ms": statistics.median(cost),
        "hold": sum(each["holds"] for each in rows),
    }


def show(rows: list[dict[str, Any]]) -> None:
    table = Table(box=MARKDOWN)
    headings = ("round", "epoch", "moved", "took, ms", "usual, ms", "longest", "twin", "loading")
    for heading in (*headings, "may", "holds"):
        table.add_column(heading, justify="right")
    for row in rows:
        table.add_row(
            str(row["round"]),
            str(row["epoch"]),
            str(row["moved"]),
            f"{row['epoch_duration_ms']:,.0f}",
            f"{row['usual_epoch_duration_ms']['p50']:,.0f}",
            f"{row['usual_epoch_duration_ms']['max']:,.0f}",
            f"{row['twin_ms']:,.0f}",
            f"{1000 * row['load_seconds']:,.0f}",
            f"{row['at_most_ms']:,.0f}",
            "yes" if row["holds"] else "no",
        )
    console = Console(width=120)
    console.print(table)
    for name, value in summary(rows).items():
        console.print(f"{name}: {value}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--pipeline", default="spis")
    parser.add_argument("--publications", type=int, default=20_000)
    parser.add_argument("--subscriptions", type=int, default=20_000)
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--partitions", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--skew", type=float, default=0.7)
    parser.add_argument("--polygon-share", type=float, default=0.1)
    parser.add_argument("--force-redistribution", type=int, default=5, help="epoch to move before")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    given = vars(parser.parse_args())
    rounds, as_json = given.pop("rounds"), given.pop("json")
    rows = figures(JoinConfig(mode="dynamic-lb-stal", **given), rounds)
    if as_json:
        outcome = {**given, "rounds": rounds, "redistributions": rows, "all": summary(rows)}
        sys.stdout.write(json.dumps(outcome, indent=2) + "\n")
    else:
        show(rows)


if __name__ == "__main__":
    main()
