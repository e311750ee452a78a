"""The observer: metrics of each epoch and of the whole run, from the workers' counts.

The observer knows the worker of every message, like the papers' global oracle (DKG paper, section
4.7), but is outside the data path: each worker writes (key, messages, weight) once per epoch, and
the driver reads these counts after the epoch has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.hashing import hash_strings
from evenkey.core.metrics import (
    Balance,
    EpochMetrics,
    Outcome,
    PairCounts,
    RunMetrics,
    Seen,
    Taken,
    imbalance,
)
from evenkey.pipeline.aggregate.worker import PLACED
from evenkey.pipeline.exporters import HotKey

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pyspark.sql.streaming import StreamingQuery

    from evenkey.core.metrics import Value
    from evenkey.groupings import By
    from evenkey.pipeline.runs import EpochFiles

_HOTTEST = 10
_LONGEST_KEY = 256
_NULL = "(null)"
"""How the null key is shown."""


@dataclass(frozen=True)
class Observed:
    """Figures of one epoch, and of the run up to the end of this epoch, by name.

    An epoch without messages, which only closes windows, has only the figures of the run.
    """

    epoch: int
    figures: Mapping[str, Value]
    hottest: tuple[HotKey, ...] = ()


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
        Function that is called with the figures of each epoch, in order; None: no calls.
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
        self._messages = 0
        self._counts = PairCounts(workers)
        self._imbalances: list[float] = []
        self._last = -1
        self._taken = Taken(0)
        self._splits = False
        self.epochs: list[EpochMetrics] = []
        """Metrics of each epoch that had messages."""

    @property
    def balance(self) -> Balance | None:
        """Messages and load balance so far; None before the first epoch with messages."""
        return Balance.of(Seen(self._counts, self._messages)) if self.epochs else None

    @property
    def taken(self) -> Taken:
        """What became of the input so far; without splitters, a line is a message."""
        # Before the first epoch, the splitters may have counted already.
        taken = self._taken_in(0) if self._last < 0 else self._taken
        return taken if self._splits else replace(taken, lines=self._messages)

    def catch_up(self, query: StreamingQuery | None = None, last: int | None = None) -> None:
        """Read the epochs that have ended since the last call."""
        del query  # the workers' files contain everything
        for epoch in self._files.commits.epochs():
            if epoch > self._last and (last is None or epoch <= last):
                self._take_in(epoch)

    def _take_in(self, epoch: int) -> None:
        taken = self._taken_in(epoch)
        self._taken = self._taken.plus(taken)
        table = self._files.read(PLACED, [epoch])
        placed = {} if table is None else self._placed_in(epoch, table)
        self._last = epoch
        if self._on_epoch is not None:
            figures = {
                **self.metrics().named(of_epoch=False),
                **Outcome.of(self.taken).named(of_epoch=False),
                **Outcome.of(taken).named(of_epoch=True),
                **placed,
            }
            hottest = () if table is None else self._hottest(table)
            self._on_epoch(Observed(epoch, figures, hottest))

    def _taken_in(self, epoch: int) -> Taken:
        """Return what became of the input of an epoch: counts of its splitters and its commit."""
        figures = self._files.figures(epoch)
        late, overflows = (int(figures.get(name, 0)) for name in ("late", "overflows"))
        counts = self._files.read(self._files.SPLITS, [epoch])
        if counts is None:
            return Taken(0, 0, late, overflows)
        self._splits = True
        lines, rejected = (int(pc.sum(counts[name]).as_py()) for name in ("lines", "rejected"))
        return Taken(lines, rejected, late, overflows)

    def _placed_in(self, epoch: int, table: pa.Table) -> dict[str, Value]:
        """Add an epoch's messages; return the figures of the epoch."""
        workers = self._workers_of(epoch)
        if workers != self._counts.workers:
            # The balance is undefined over epochs with different numbers of workers: start anew.
            self._counts, self._imbalances = PairCounts(workers), []
        counts = self._counts.of_next_epoch()
        counts.add(
            table["worker"].to_numpy(),
            hash_strings(table["key"].combine_chunks()),
            table[self._load].to_numpy(),
        )
        self._counts.merge(counts)
        messages = int(pc.sum(table["messages"]).as_py())
        self._messages += messages
        self._imbalances.append(imbalance(self._counts.loads))
        metrics = EpochMetrics.of_epoch(epoch, counts, messages)
        self.epochs.append(metrics)
        return {**metrics.named(of_epoch=True), "epoch_loads": tuple(map(int, counts.loads))}

    def metrics(self) -> RunMetrics:
        """Return metrics over all epochs so far.

        Loads, balance and replication cover the epochs since the number of workers last changed;
        the number of messages covers all epochs.
        """
        average = float(np.mean(self._imbalances or [0.0]))
        return RunMetrics.of(Seen(self._counts, self._messages, average))

    def _hottest(self, placed: pa.Table) -> tuple[HotKey, ...]:
        """Return the keys of an epoch with the highest loads, with their workers.

        The messages of the epoch must have been added.
        """
        load = self._load
        totals = placed.group_by("key").aggregate([(load, "sum")])
        order = [(f"{load}_sum", "descending"), ("key", "ascending")]
        most = min(_HOTTEST, len(totals))
        top = totals.take(pc.select_k_unstable(totals, k=most, sort_keys=order))
        keys = top["key"].combine_chunks()
        held: dict[str | None, dict[int, int]] = {}
        for row in placed.filter(pc.is_in(placed["key"], keys)).to_pylist():
            held.setdefault(row["key"], {})[row["worker"]] = row[load]
        so_far = self._counts.workers_of(hash_strings(keys)).tolist()
        hottest = []
        for row, workers in zip(top.to_pylist(), so_far, strict=True):
            pool, loads = zip(*sorted(held[row["key"]].items()), strict=True)
            name = _NULL if row["key"] is None else row["key"][:_LONGEST_KEY]
            hottest.append(HotKey(name, row[f"{load}_sum"], pool, loads, workers))
        return tuple(hottest)
