"""A made-up run of a join, for tests and for the picture in the docs: 16 workers, drawn loads.

``python -m tests.dashboard.joined DIRECTORY`` writes its history. The loads of partitions are
drawn; the joins' own planner places the partitions, and metrics are computed as for a real run.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path

import numpy as np

from evenkey.core.metrics import Pace, Paced
from evenkey.core.planners import greedy, load_per_location
from evenkey.papers.publish_subscribe.join_seen import JoinSeen, LoadMeasure
from evenkey.pipeline.exporters import EpochRecord, History, RunInfo

__all__ = ["EPOCHS", "INFO", "write_join"]

WORKERS, PARTITIONS, EPOCHS, REDISTRIBUTED = 16, 64, 20, 6
INFO = RunInfo(
    "sps dynamic-lb-stal-1", "publications", "sps dynamic-lb-stal", WORKERS, 2, "microseconds"
)
_BEGAN, _ITEMS, _SKEWED_SHARE, _THRESHOLD = 1_790_000_000.0, 2000, 0.7, 0.5


def write_join(directory: Path, epochs: int = EPOCHS) -> History:
    """Write the history of a run that redistributes once and continues."""
    history = History(directory)
    history.begin(INFO)
    random = np.random.default_rng(7)
    owners = (np.arange(PARTITIONS) % WORKERS).astype(np.int32)
    shares = random.lognormal(0, 0.1, PARTITIONS)
    skewed = owners < 3
    shares[skewed] *= _SKEWED_SHARE / shares[skewed].sum()
    shares[~skewed] *= (1 - _SKEWED_SHARE) / shares[~skewed].sum()
    run: JoinSeen | None = None
    ended, lengths = _BEGAN, []
    for epoch in range(epochs):
        work = shares * random.normal(1, 0.05, PARTITIONS)
        moved = 0
        if epoch == REDISTRIBUTED:
            planned = greedy(owners, shares, WORKERS)
            moved, owners = int((planned != owners).sum()), planned
        items = load_per_location(owners, np.round(_ITEMS * work), WORKERS)
        seconds = load_per_location(owners, work * random.normal(1, 0.05, PARTITIONS), WORKERS)
        loaded = PARTITIONS if epoch == 0 else moved
        took = 0.05 * moved
        matches = int(random.normal(9000, 300))
        seen = JoinSeen(
            messages=_ITEMS,
            items=items,
            seconds=seconds,
            measure=LoadMeasure.SECONDS,
            threshold=_THRESHOLD,
            matches=matches,
            moved_partitions=moved,
            static_loads=loaded,
            redistribution_seconds=took,
            owners=tuple(map(int, owners)),
        )
        run = seen if run is None else run.plus(seen)
        lengths.append(1000 * (0.4 + seconds.max() + took))
        ended += lengths[-1] / 1000
        pace = Pace.of(Paced(_ITEMS * (epoch + 1), sum(lengths), lengths))
        pace_of_epoch = Pace.of(Paced(_ITEMS, lengths[-1], lengths[-1:]))
        figures = {
            **run.figures(of_epoch=False),
            **seen.figures(of_epoch=True),
            **pace.named(of_epoch=False),
            **pace_of_epoch.named(of_epoch=True),
            "rejected": 0,
        }
        if math.isnan(pace.duration_p99_ms):  # a record has no unknown figures
            del figures["duration_p99_ms"]
        history.add(EpochRecord(epoch, ended, figures, owners=seen.owners))
    return history


if __name__ == "__main__":
    write_join(Path(sys.argv[1])).end("finished")
