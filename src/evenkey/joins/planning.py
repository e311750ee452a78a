"""Planning: the first task of an epoch decides what all tasks of it go by."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkey.errors import RunError
from evenkey.event_clock import FAR, in_step
from evenkey.joins.epoch_log import EpochLog, EpochPlan, work_of
from evenkey.joins.static_store import StaticStore

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.joins.distributor import DynamicDistributor
    from evenkey.joins.epoch_log import SlotRecord
    from evenkey.joins.static_manifest import StaticVersion
    from evenkey.spark import TaskId

KEPT = 1000
"""Epochs whose plans and records are kept."""
BATCH = "batch"
"""What a task's query is called where there is no streaming query."""


def first_owners(partitions: int, workers: int) -> tuple[int, ...]:
    """Where partitions lie before any has moved: dealt to the slots by turn."""
    return tuple(partition % workers for partition in range(partitions))


@dataclass(frozen=True)
class JoinPlanner:
    """Gives each epoch its plan, the same to every task however often the epoch runs.

    There is no process of the Distributor's own: the first tasks of an epoch read what the
    slots of the last one wrote down, decide, and claim the epoch's plan file; exactly one
    succeeds and all others go by what it wrote. So an epoch's figures serve the very next
    one, nothing is in memory that a restart could lose, and no epoch mixes two owners of a
    partition or two versions of the static data.

    Parameters
    ----------
    directory
        Where the log of each query lies, in a subdirectory named by the query's id.
    store
        Directory of the static data.
    partitions, workers
        How many there are.
    distributor
        Decides; None where partitions stay (static modes).
    event_time
        Whether the clock is the stream's event time, else processing time.
    batch_version
        Version that a batch job reads.
    shape
        `Manifest.shape` of the versions that the join was made for.
    """

    directory: Path
    store: Path
    partitions: int
    workers: int
    distributor: DynamicDistributor | None
    event_time: bool
    batch_version: StaticVersion
    shape: str

    def log(self, query: str) -> EpochLog:
        """The log of a query."""
        return EpochLog(self.directory / query)

    def plan(self, task: TaskId) -> EpochPlan:
        """Give the plan of a task's epoch, made now if nobody has made it yet."""
        if task.query == BATCH:
            owners = first_owners(self.partitions, self.workers)
            return EpochPlan(task.epoch, self.batch_version, owners)
        log = self.log(task.query)
        settled = log.plan(task.epoch)
        if settled is not None:
            return settled
        last = log.last_plan(task.epoch)
        log.forget(task.epoch - KEPT)
        return log.settle(self._first(task.epoch) if last is None else self._next(log, last, task))

    def _first(self, epoch: int) -> EpochPlan:
        clock = None if self.event_time else time.time()
        owners = first_owners(self.partitions, self.workers)
        return EpochPlan(epoch, self._latest(), owners, clock=clock)

    def _latest(self) -> StaticVersion:
        store = StaticStore(self.store)
        latest = store.latest()
        if store.manifest(latest).shape != self.shape:
            message = (
                f"the static data in {self.store} were made anew for another join while this one "
                "ran: their columns, or how they are divided, are others; call balanced_join again"
            )
            raise RunError(message)
        return latest

    def _next(self, log: EpochLog, last: EpochPlan, task: TaskId) -> EpochPlan:
        started = time.perf_counter()
        records = log.records(last.epoch)
        began, now = self._clock(last, records)
        owners, window = np.array(last.owners, dtype=np.int32), last.window
        if last.clock is not None and now is not None and now < last.clock:
            window = window.moved(now - last.clock)
        if self.distributor is not None and began is not None and now is not None:
            work = work_of(records, self.partitions)
            window = self.distributor.take_in(window, work, began=began, now=now)
            window, owners = self.distributor.look(
                window, owners, self.workers, now=now, epoch=task.epoch
            )
        moved = np.flatnonzero(owners != np.array(last.owners))
        return EpochPlan(
            task.epoch,
            self._latest(),
            tuple(map(int, owners)),
            last.redistributions + bool(len(moved)),
            tuple(map(int, moved)),
            now,
            window,
            time.perf_counter() - started,
        )

    def _clock(
        self, last: EpochPlan, records: list[SlotRecord]
    ) -> tuple[float | None, float | None]:
        """The clock when the last epoch began, and now.

        It is set back where the whole epoch lay behind it by more than one of the Distributor's
        periods, since it would stand until the stream had caught up.
        """
        if self.event_time:
            began, now = _span(records)
            if last.clock is None or now is None:
                return (began, now) if last.clock is None else (last.clock, last.clock)
        else:
            now = time.time()
        if last.clock is not None and last.clock - now <= self._most_behind:
            now = max(last.clock, now)
        return last.clock, now

    @property
    def _most_behind(self) -> float:
        return 0.0 if self.distributor is None else self.distributor.period


def _span(records: list[SlotRecord]) -> tuple[float | None, float | None]:
    """Begin and end of the slots that are in step: all within an hour of their median."""
    starts = [each.began for each in records if each.began is not None]
    ends = [each.ended for each in records if each.ended is not None]
    if not ends:
        return None, None
    steady = in_step(ends, FAR)
    return (
        min(start for start, keeps in zip(starts, steady, strict=True) if keeps),
        max(end for end, keeps in zip(ends, steady, strict=True) if keeps),
    )
