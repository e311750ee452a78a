"""Balance and replication of groupings in every epoch, also the first, of all generated streams.

Each cell is a stream, a grouping, and numbers of workers, of sources and of messages per worker and
epoch. Its figures are those of its worst epoch: max over mean, and DistCost over its lower bound
(`dist_cost_lower_bound`, at an imbalance of 5 %). A cell misses if either is above 1.10; with fewer
than 20,000 messages per worker, if max over mean is above `most_imbalance`
(docs/planned-reference.md). Cells are written one by one, as lines of JSON, and cells in the file
are not simulated again. So the command can be stopped at any time, and continues where it stopped.

    python -m benchmarks.every_epoch --output cells.jsonl
    python -m benchmarks.every_epoch --output cells.jsonl --groupings planned --seconds 200
    python -m benchmarks.every_epoch --output cells.jsonl --table
    python -m benchmarks.every_epoch --output fresh.jsonl --groupings planned --fresh
"""

from __future__ import annotations

import argparse
import functools
import json
import random
import time
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from rich.box import MARKDOWN
from rich.console import Console
from rich.table import Table

import evenkey.papers  # noqa: F401 - registers the names of its streams
from evenkey.core.streams import catalogue, generated
from evenkey.simulation import simulate
from tests.groupings.planned.guarantee import most_uneven

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkey.core.metrics import EpochMetrics

ZIPF = [
    f"zipf(z={z},keys={keys})" for z in (1.0, 1.2, 1.4, 1.6, 2.0) for keys in (100_000, 1_000_000)
]
COUNTRY = [f"country-skew-r{percent}" for percent in range(0, 101, 10)] + ["country-half-skew-r80"]
DRIFT_PERIODS = {"slow": 2.5, "fast": 0.6, "faster": 0.25}
"""Number of epochs after which the hot keys of `drift` change, by the name of the speed."""
LAST_CHANGE = "297a8655b99799a2d064baa2499dd61e5634bc6c"
"""The last commit that changed planned grouping; as a seed, it draws streams unknown before it."""
OTHERS = ("wikipedia-like", "twitter-like", "cashtags-like", "lognormal-1", "lognormal-2")


def fresh(seed: str) -> list[tuple[str, int]]:
    """Draw 30 streams of the same families, each with a seed."""
    draw = random.Random(seed)  # noqa: S311 - not for secrets
    keys = functools.partial(draw.randint, 5_000)
    names = [f"zipf(z={draw.uniform(0.9, 2.1):.2f},keys={keys(600_000)})" for _ in range(9)]
    for _ in range(9):
        z, period = draw.uniform(1, 1.6), draw.uniform(0.2, 3)
        names.append(f"drift(z={z:.2f},keys={keys(80_000)}):{period:.2f}")
    names += [f"country-skew-r{draw.randint(1, 99)}" for _ in range(5)]
    names += [*OTHERS, "country-half-skew-r80", draw.choice(OTHERS)]
    return [(name, draw.randrange(1_000_000_000)) for name in names]


GROUPINGS = "planned;planned(planning=previous);kg;pkg;dkg;dchoices;wchoices;cam;prompt;kip"
EPOCHS = 10
ENOUGH = 20_000
"""With at least this many messages per worker, the imbalance of an epoch must be within `NEAR`."""
NEAR = 1.10


class Cell(NamedTuple):
    """The setting of a simulation."""

    stream: str
    grouping: str
    workers: int
    sources: int
    messages_a_worker: int
    seed: int


def families() -> list[str]:
    """Return all generated streams; the period of ``drift:fast`` depends on the epoch's size."""
    named = [entry.spelling for entry in catalogue()]
    others = [name for name in named if name.endswith("-like")]
    return [*ZIPF, *COUNTRY, *others, *(f"drift:{speed}" for speed in DRIFT_PERIODS)]


def spelled(cell: Cell) -> str:
    """Return the spelling of a cell's stream, given the size of the cell's epochs."""
    family, _, speed = cell.stream.partition(":")
    if not speed:
        return cell.stream
    periods = DRIFT_PERIODS[speed] if speed in DRIFT_PERIODS else float(speed)
    every = round(periods * cell.messages_a_worker * cell.workers)
    keys = "(z=1.2,keys=10000)" if family == "drift" else ""
    return f"{family}{keys}".replace(")", f",every={every})")


def over_least(epoch: EpochMetrics) -> float:
    return epoch.dist_cost / epoch.dist_cost_lower_bound


def _worst_epoch(name: str, record: dict[str, Any]) -> float:
    return float(max(record[name]))


def most_imbalance(messages: int, workers: int, sources: int) -> float:
    """Return the largest max over mean that ``planned`` may have in an epoch, for any keys."""
    if messages >= ENOUGH * workers:
        return NEAR
    return most_uneven(messages, workers, sources)


def too_uneven(record: dict[str, Any]) -> bool:
    workers = record["workers"]
    messages = record["messages_a_worker"] * workers
    most = most_imbalance(messages, workers, record["sources"])
    return _worst_epoch("max_over_mean", record) > most


def measured(cell: Cell, epochs: int) -> dict[str, Any]:
    each = cell.messages_a_worker * cell.workers
    report = simulate(
        generated(spelled(cell), messages=each * epochs, seed=cell.seed),
        cell.grouping,
        workers=cell.workers,
        sources=cell.sources,
        epoch_messages=each,
        samples=1,
    )
    return {
        **cell._asdict(),
        "keys": min(epoch.keys for epoch in report.epochs),
        "max_over_mean": [round(epoch.max_over_mean, 4) for epoch in report.epochs],
        "over_least": [round(over_least(epoch), 4) for epoch in report.epochs],
    }


def read(path: Path) -> dict[Cell, dict[str, Any]]:
    """Read the cells of a file; a line that is incomplete after a stop is left out."""
    found = {}
    for line in path.read_text().splitlines() if path.exists() else []:
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        found[Cell(*(record[name] for name in Cell._fields))] = record
    return found


def tabled(records: Iterable[dict[str, Any]]) -> Iterator[tuple[str, ...]]:
    """Yield a row for each grouping and number of messages per worker, with its worst cells."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for record in records:
        groups.setdefault((record["grouping"], record["messages_a_worker"]), []).append(record)
    for (grouping, messages), mine in sorted(groups.items(), key=lambda each: each[0]):
        row = [grouping, f"{messages:,}", str(len(mine))]
        for name in ("max_over_mean", "over_least"):
            worst = max(mine, key=functools.partial(_worst_epoch, name))
            where = f"{worst['stream']}, W = {worst['workers']}, S = {worst['sources']}"
            row.append(f"{_worst_epoch(name, worst):.3f} ({where})")
        row.insert(4, str(sum(map(too_uneven, mine))))
        row.append(str(sum(_worst_epoch("over_least", record) > NEAR for record in mine)))
        yield tuple(row)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--output", type=Path, required=True, help="JSON lines; cells are added")
    parser.add_argument("--streams", default=";".join(families()), help="separated by ;")
    parser.add_argument("--groupings", default=GROUPINGS, help="separated by ;")
    parser.add_argument("--workers", default="5,10,50,100")
    parser.add_argument("--sources", default="1,5,20")
    parser.add_argument("--messages-a-worker", default="20000")
    parser.add_argument("--seeds", default="0")
    parser.add_argument("--epochs", type=int, default=EPOCHS)
    parser.add_argument("--fresh", action="store_true", help="draw streams, by LAST_CHANGE")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after this time")
    parser.add_argument("--table", action="store_true", help="only print the file's cells")
    given = parser.parse_args()
    workers, sources, messages, seeds = (
        [int(each) for each in text.split(",")]
        for text in (given.workers, given.sources, given.messages_a_worker, given.seeds)
    )
    streams = fresh(LAST_CHANGE) if given.fresh else [*product(given.streams.split(";"), seeds)]
    groupings = given.groupings.split(";")
    asked = [
        Cell(stream, grouping, w, s, m, seed)
        for stream, seed in streams
        for grouping, w, s, m in product(groupings, workers, sources, messages)
    ]
    records = read(given.output)
    end = time.monotonic() + given.seconds
    if not given.table:
        with given.output.open("a") as output:
            for cell in asked:
                if cell in records:
                    continue
                if time.monotonic() > end:
                    break
                records[cell] = measured(cell, given.epochs)
                output.write(json.dumps(records[cell]) + "\n")
                output.flush()
        left = sum(cell not in records for cell in asked)
        Console(stderr=True).print(f"{len(asked) - left} of {len(asked)} cells are there")
    table = Table(box=MARKDOWN)
    headings = ("grouping", "messages a worker", "cells")
    for heading in (*headings, "worst max/mean", "misses", "worst DistCost / least", "misses "):
        table.add_column(heading)
    for row in tabled(records[cell] for cell in asked if cell in records):
        table.add_row(*row)
    Console(width=160).print(table)


if __name__ == "__main__":
    main()
