"""DistCost and migration over whole runs of planned grouping: figures of the documentation.

Each run has ten epochs, on ten streams, with 10 and 100 workers, in epochs of 20,000 and of 200,000
messages. `least` is the lower bound of DistCost over the run (`dist_cost_lower_bound`), and `had`
is the share of keys that had to move, for the same maximum load (`benchmarks/least_moves.py`).

    python -m benchmarks.plans_that_stay          # one JSON object, in a few minutes
    python -m benchmarks.plans_that_stay --grouping 'planned(planning=previous)'
"""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

import evenkey.papers  # noqa: F401 - registers the names of its streams
from benchmarks.least_moves import counts_by_epoch, share_moved
from evenkey.core.streams import generated
from evenkey.simulation import simulate

STREAMS = (
    *(f"drift every {periods} epochs" for periods in (2.5, 0.6, 0.25)),
    *("cashtags-like", "country-half-skew-r80", "country-skew-r80", "country-skew-r10"),
    *("zipf(z=1.4,keys=100000)", "zipf(z=1.0,keys=100000)", "wikipedia-like"),
)
WORKERS, SIZES, EPOCHS = (10, 100), (20_000, 200_000), 10


def spelled(stream: str, epoch_messages: int) -> str:
    """Return the spelling of a stream; how often hot keys change depends on the epoch's size."""
    if not stream.startswith("drift"):
        return stream
    return f"drift(z=1.2,keys=10000,every={round(float(stream.split()[2]) * epoch_messages)})"


def measured(stream: str, grouping: str, workers: int, epoch_messages: int) -> dict[str, float]:
    """Simulate a run, and return its figures."""
    made = generated(spelled(stream, epoch_messages), messages=epoch_messages * EPOCHS)
    report = simulate(made, grouping, workers=workers, epoch_messages=epoch_messages, samples=1)
    figures, most = report.metrics, max(epoch.max_over_mean for epoch in report.epochs)
    return {
        "dist_cost": figures.dist_cost,
        "least": figures.dist_cost_lower_bound,
        "had": share_moved(counts_by_epoch(made, epoch_messages), workers, most),
        "moved_keys": figures.moved_keys,
        "moved_load": figures.moved_load,
        "max_over_mean": most,
        "over_least": figures.dist_cost / figures.dist_cost_lower_bound,
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--grouping", default="planned")
    parser.add_argument("--streams", default=";".join(STREAMS), help="separated by ;")
    given = parser.parse_args()
    runs: list[dict[str, Any]] = []
    for stream in given.streams.split(";"):
        for workers in WORKERS:
            run: dict[str, Any] = {"run": f"{stream}, W = {workers}"}
            for size in SIZES:
                found = measured(stream, given.grouping, workers, size)
                run |= {f"{name}_{size // 1000}k": value for name, value in found.items()}
            runs.append(run)
    sys.stdout.write(json.dumps({"runs": runs}, indent=1) + "\n")


if __name__ == "__main__":
    main()
