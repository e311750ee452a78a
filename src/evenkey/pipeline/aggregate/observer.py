"""The observer: metrics of each epoch and of the whole run, from the workers' counts.

The observer knows the worker of every message, like the papers' global oracle (DKG paper, section
4.7), but is outside the data path: each worker writes (key, messages, weight) once per epoch, and
the driver reads these counts after the epoch has ended.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.hashing import hash_strings
from evenkey.core.metrics import EpochMetrics, PairCounts, RunMetrics, Seen, imbalance
from evenkey.pipeline.aggregate.worker import PLACED
from evenkey.pipeline.exporters import HotKey

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

    from evenkey.groupings import By
    from evenkey.pipeline.runs import EpochFiles, Recorder

_HOTTEST = 10
_LONGEST_KEY = 256


@dataclass(frozen=True)
class Observed:
    """Metrics of one epoch, and of the run up to the end of this epoch."""

    epoch: EpochMetrics
    run: RunMetrics
    loads: tuple[int, ...]
    hottest: tuple[HotKey, ...]


class Observer:
    """Reads the workers' counts, epoch by epoch.

    Parameters
    ----------
    files
        The epoch files, with the workers' counts.
    workers
        Number of workers.
    by
        The unit of loads: messages or weights.
    workers_of
        Function that returns the number of workers of an epoch. Earlier processes of the run may
        have had another number of workers. None: every epoch had `workers` workers.
    on_epoch
        Function that is called with the metrics of each epoch, in order; None: no calls.
    """

    def __init__(
        self,
        files: EpochFiles,
        workers: int,
        *,
        by: By = "messages",
        workers_of: Callable[[int], int] | None = None,
        on_epoch: Callable[[Observed], None] | None = None,
    ) -> None:
        self._files = files
        self._workers_of = workers_of or (lambda _: workers)
        self._load = "messages" if by == "messages" else "weight"
        self._on_epoch = on_epoch
        self.messages = 0
        """Messages seen so far."""
        self._counts = PairCounts(workers)
        self._imbalances: list[float] = []
        self.epochs: list[EpochMetrics] = []

    @property
    def max_over_mean(self) -> float | None:
        """Maximum load of the last epoch, divided by its mean load; None before the first epoch."""
        return self.epochs[-1].max_over_mean if self.epochs else None

    def catch_up(self, query: StreamingQuery | None = None, last: int | None = None) -> None:
        """Read the epochs that have ended since the last call."""
        del query  # the workers' files contain everything
        known = self.epochs[-1].epoch if self.epochs else -1
        for epoch in self._files.epochs(PLACED):
            if epoch > known and (last is None or epoch <= last):
                self._take_in(epoch)

    def _take_in(self, epoch: int) -> None:
        table = self._files.read(PLACED, [epoch])
        if table is None:
            return
        counts = PairCounts(self._workers_of(epoch))
        counts.add(
            table["worker"].to_numpy(),
            hash_strings(table["key"].combine_chunks()),
            table[self._load].to_numpy(),
        )
        if counts.workers != self._counts.workers:
            # The balance is undefined over epochs with different numbers of workers: start anew.
            self._counts, self._imbalances = PairCounts(counts.workers), []
        self._counts.merge(counts)
        messages = int(pc.sum(table["messages"]).as_py())
        self.messages += messages
        self._imbalances.append(imbalance(self._counts.loads))
        metrics = EpochMetrics.of_epoch(epoch, counts, messages)
        self.epochs.append(metrics)
        if self._on_epoch is not None:
            loads = tuple(map(int, counts.loads))
            self._on_epoch(Observed(metrics, self.metrics(), loads, _hottest(table, self._load)))

    def metrics(self) -> RunMetrics:
        """Return metrics over all epochs so far.

        Loads, balance and replication cover the epochs since the number of workers last changed;
        the number of messages covers all epochs.
        """
        average = float(np.mean(self._imbalances or [0.0]))
        return RunMetrics.of(Seen(self._counts, self.messages, average))


_NULL = "(null)"
"""How the null key is shown."""


def _hottest(placed: pa.Table, load: str) -> tuple[HotKey, ...]:
    """Return the keys with the highest sums of the column `load`, with their workers."""
    totals = placed.group_by("key").aggregate([(load, "sum")])
    order = [(f"{load}_sum", "descending"), ("key", "ascending")]
    top = totals.take(pc.select_k_unstable(totals, k=min(_HOTTEST, len(totals)), sort_keys=order))
    shares = placed.filter(pc.is_in(placed["key"], top["key"].combine_chunks()))
    held: dict[str | None, dict[int, int]] = {}
    for row in shares.to_pylist():
        held.setdefault(row["key"], {})[row["worker"]] = row[load]
    hottest = []
    for row in top.to_pylist():
        pool, loads = zip(*sorted(held[row["key"]].items()), strict=True)
        name = _NULL if row["key"] is None else row["key"][:_LONGEST_KEY]
        hottest.append(HotKey(name, row[f"{load}_sum"], pool, loads))
    return tuple(hottest)


class AggregateRecords:
    """Passes the figures of each epoch from the observer to a recorder.

    Parameters
    ----------
    recorder
        Receives the figures.
    files
        The epoch files, with the splitters' counts of rejected lines.
    """

    def __init__(self, recorder: Recorder, files: EpochFiles) -> None:
        self._recorder = recorder
        self._files = files
        self._rejected = 0

    def add(self, seen: Observed) -> None:
        """Record an epoch; epochs come in order."""
        epoch = seen.epoch.epoch
        self._rejected += self._rejected_in(epoch)
        figures = {
            **seen.run.named(of_epoch=False),
            **seen.epoch.named(of_epoch=True),
            "epoch_loads": seen.loads,
            "rejected": self._rejected,
        }
        self._recorder.record(epoch, figures, seen.hottest)

    def _rejected_in(self, epoch: int) -> int:
        counts = self._files.read(self._files.SPLITS, [epoch])
        return 0 if counts is None else int(pc.sum(counts["rejected"]).as_py())
