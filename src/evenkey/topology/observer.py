"""The observer: metrics of each epoch and of the whole run, from what the workers held.

It sees the placement of every message, as the papers' global oracle does (DKG paper,
section 4.7), and stands outside the data path: workers write down (key, messages) once an
epoch, and the driver reads it after the epoch has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkey.hashing import hash_strings
from evenkey.metrics import (
    EpochMetrics,
    PairCounts,
    imbalance,
    imbalance_fraction,
    max_over_mean,
    stddev_percent,
)
from evenkey.topology.worker import PLACED

if TYPE_CHECKING:
    from evenkey.topology.epoch_files import EpochFiles

__all__ = ["Observer", "RunMetrics"]


@dataclass(frozen=True)
class RunMetrics:
    """How all messages of a run were spread; see `evenkey.metrics` for the definitions."""

    messages: int
    keys: int
    pairs: int
    loads: tuple[int, ...]
    max_over_mean: float
    imbalance_fraction: float
    average_imbalance_fraction: float
    stddev_percent: float
    dist_cost: float
    dist_cost_lower_bound: float


class Observer:
    """Reads what workers held, epoch by epoch.

    Parameters
    ----------
    files
        Where the workers write.
    workers
        How many there are.
    """

    def __init__(self, files: EpochFiles, workers: int) -> None:
        self._files = files
        self._workers = workers
        self._counts = PairCounts(workers)
        self._imbalances: list[float] = []
        self.epochs: list[EpochMetrics] = []

    def catch_up(self, last_epoch: int | None = None) -> None:
        """Take in the epochs that have ended since the last call, up to `last_epoch`."""
        known = self.epochs[-1].epoch if self.epochs else -1
        for epoch in self._files.epochs(PLACED):
            if epoch > known and (last_epoch is None or epoch <= last_epoch):
                self._take_in(epoch)

    def _take_in(self, epoch: int) -> None:
        table = self._files.read(PLACED, [epoch])
        if table is None:
            return
        counts = PairCounts(self._workers)
        counts.add(
            table["worker"].to_numpy(),
            hash_strings(table["key"].combine_chunks()),
            table["messages"].to_numpy(),
        )
        self._counts.merge(counts)
        self._imbalances.append(imbalance(self._counts.loads))
        self.epochs.append(EpochMetrics.of(epoch, counts))

    @property
    def messages(self) -> int:
        """Messages seen so far."""
        return int(self._counts.loads.sum())

    def metrics(self) -> RunMetrics:
        """Metrics over all epochs taken in so far."""
        loads = self._counts.loads
        return RunMetrics(
            messages=self.messages,
            keys=self._counts.keys,
            pairs=self._counts.pairs,
            loads=tuple(int(load) for load in loads),
            max_over_mean=max_over_mean(loads),
            imbalance_fraction=imbalance_fraction(loads),
            average_imbalance_fraction=float(np.mean(self._imbalances or [0.0]))
            / max(1, self.messages),
            stddev_percent=stddev_percent(loads),
            dist_cost=self._counts.dist_cost,
            dist_cost_lower_bound=self._counts.dist_cost_lower_bound,
        )
