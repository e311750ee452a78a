"""Balance and replication of planned grouping over the generated streams.

Each epoch is planned from previous epochs. The first epoch, without statistics, is routed by
buckets and left out. The figures of a cell are those of its worst epoch: max over mean against the
bound of docs/planned.md, pairs against distinct keys + W - 1, and, for epochs with at least 100
keys per worker, replication against its lower bound. A look-alike stream that is too short for the
epochs is cut into smaller epochs.

    python benchmarks/planned_grid.py --output grid.json
    python benchmarks/planned_grid.py --streams country-skew-r80 --groupings "planned;pkg;dkg"
"""

from __future__ import annotations

import argparse
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.box import MARKDOWN
from rich.console import Console
from rich.progress import track
from rich.table import Table

import evenkey.papers  # noqa: F401 - registers the names of its streams
from evenkey.core.streams import catalogue, generated
from evenkey.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Iterator

ZIPF = [
    f"zipf(z={z},keys={keys})" for z in (1.0, 1.2, 1.4, 1.6, 2.0) for keys in (100_000, 1_000_000)
]
COUNTRY = [f"country-skew-r{percent}" for percent in range(0, 101, 10)] + ["country-half-skew-r80"]
WORKERS = (5, 10, 50, 100)
NEAR = 1.02  # largest replication over its lower bound
KEYS_A_WORKER = 100  # fewest keys per worker for which replication must be within NEAR


def look_alikes() -> list[str]:
    return [entry.spelling for entry in catalogue() if entry.spelling.endswith("-like")]


def most_imbalance(messages: int, workers: int) -> float:
    """Return the bound of max over mean for an epoch of `messages` messages (docs/planned.md)."""
    return max(1.05, 1.01 + 4.5 * math.sqrt(2 * workers / messages))


def measured(
    stream: str, grouping: str, workers: int, epochs: int, epoch_messages: int
) -> dict[str, Any]:
    usual = generated(stream).length
    each = (
        min(epoch_messages, usual // (epochs + 1)) if stream.endswith("-like") else epoch_messages
    )
    made = generated(stream, messages=each * (epochs + 1))
    report = simulate(made, grouping, workers=workers, epoch_messages=each)
    later = report.epochs[1:]
    many_keys = [epoch for epoch in later if epoch.keys >= KEYS_A_WORKER * workers]
    return {
        "stream": stream,
        "grouping": grouping,
        "workers": workers,
        "epochs": len(later),
        "epoch_messages": each,
        "max_over_mean": max(epoch.max_over_mean for epoch in later),
        "bound": most_imbalance(each, workers),
        "extra_pairs": max(epoch.pairs - epoch.keys for epoch in later),
        "dist_cost_over_least": max(
            (epoch.dist_cost / epoch.dist_cost_lower_bound for epoch in many_keys), default=None
        ),
    }


def misses(cell: dict[str, Any]) -> list[str]:
    found = []
    if cell["max_over_mean"] > cell["bound"]:
        found.append("balance")
    if cell["extra_pairs"] > cell["workers"] - 1:
        found.append("pairs")
    if (cell["dist_cost_over_least"] or 0) > NEAR:
        found.append("replication")
    return found


def tabled(cells: list[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each stream and grouping, with the worst of its cells."""
    for stream, grouping in dict.fromkeys((cell["stream"], cell["grouping"]) for cell in cells):
        mine = [cell for cell in cells if (cell["stream"], cell["grouping"]) == (stream, grouping)]
        worst = max(mine, key=lambda cell: cell["max_over_mean"] / cell["bound"])
        least = [cell["dist_cost_over_least"] for cell in mine if cell["dist_cost_over_least"]]
        missed = sorted({what for cell in mine for what in misses(cell)})
        yield (
            stream,
            grouping,
            f"{worst['max_over_mean']:.3f} of {worst['bound']:.3f} (W = {worst['workers']})",
            " ".join(str(cell["extra_pairs"]) for cell in mine),
            f"{max(least):.4f}" if least else "-",
            ", ".join(missed) or "none",
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--streams", action="append", default=[], help="a stream; may be repeated")
    parser.add_argument("--groupings", default="planned(planning=previous)", help="separated by ;")
    parser.add_argument("--workers", default=",".join(map(str, WORKERS)))
    parser.add_argument("--epochs", type=int, default=10, help="epochs after the first")
    parser.add_argument("--epoch-messages", type=int, default=2_000_000)
    parser.add_argument(
        "--output", type=Path, help="file to write the cells to as JSON, one after the other"
    )
    given = parser.parse_args()
    workers = [int(each) for each in given.workers.split(",")]
    groupings = given.groupings.split(";")
    asked = [
        (stream, grouping, count)
        for stream in given.streams or [*ZIPF, *COUNTRY, *look_alikes()]
        for grouping in groupings
        for count in workers
    ]
    cells = []
    error = Console(stderr=True)
    for stream, grouping, count in track(asked, "simulated", console=error):
        cells.append(measured(stream, grouping, count, given.epochs, given.epoch_messages))
        if given.output is not None:
            given.output.write_text(json.dumps(cells, indent=2) + "\n")
    table = Table(box=MARKDOWN)
    headings = (
        "stream",
        "grouping",
        "worst max/mean",
        "pairs beyond keys",
        "DistCost / least",
        "misses",
    )
    for heading in headings:
        table.add_column(heading)
    for row in tabled(cells):
        table.add_row(*row)
    Console(width=140).print(table)


if __name__ == "__main__":
    main()
