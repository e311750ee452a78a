"""The plan of each epoch of a join: one task decides and stores it before all other tasks begin."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenkey.core.errors import RunError
from evenkey.core.event_clock import FAR, in_step
from evenkey.joins.balance.epoch_log import EpochLog, EpochPlan
from evenkey.joins.balance.placement import Placement
from evenkey.joins.balance.work import PartitionWork
from evenkey.joins.matching.partition_join import RESERVED
from evenkey.joins.static.objects import unseen
from evenkey.spark.plans import PlanSource, pack_places
from evenkey.spark.sessions import BATCH, current_epoch, current_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkey.core.stores import Store
    from evenkey.joins.balance.distributor import DynamicDistributor
    from evenkey.joins.balance.epoch_log import SlotRecord
    from evenkey.joins.static.manifest import StaticVersion
    from evenkey.joins.static.static_store import StaticStore
    from evenkey.spark.sessions import TaskId


COUNTS = f"{RESERVED}counts"
"""Column with the counts of a batch: for each partition, the number of its items, and the number of
those that are the first copy of an item."""


def first_owners(partitions: int, workers: int) -> tuple[int, ...]:
    """Return the initial owner of each partition: the slots in turn."""
    return tuple(partition % workers for partition in range(partitions))


@dataclass(frozen=True)
class EpochPlans(PlanSource[EpochPlan]):
    """Decides one plan for each epoch, which all tasks follow, also if the epoch runs again.

    It is a `PlanSource` with one plan per epoch. The Dynamic Distributor makes the plans.

    The Distributor has no process of its own. In each epoch, Spark first runs one task
    (`DecideTask`). This task reads what the slots recorded in the previous epoch, decides the plan
    and stores it. All other tasks follow the stored plan. A plan also depends on the time and on
    the newest version of the static data, so a second decision could differ from the first.
    Therefore a plan is stored by an exclusive create, and a task that decides again returns the
    stored plan. As a result, an epoch can use the loads measured in the previous epoch, a restart
    loses nothing, and no epoch has two owners of a partition or two versions of the static data.

    Parameters
    ----------
    epochs
        Store of the epoch logs; each log is stored under the id of its query.
    static
        The static data.
    partitions, workers
        Number of partitions, and number of slots.
    distributor
        The Dynamic Distributor, which decides when partitions move; None: partitions never move
        (static modes).
    event_time
        Whether the clock is the stream's event time; otherwise it is processing time.
    batch_version
        Version of the static data that a batch job reads.
    shape
        `Manifest.shape` of the versions that the join was made for.
    streaming
        Whether tasks belong to the epochs of a stream.
    counts
        Whether the rows of a batch are counted before they are placed.
    """

    epochs: Store
    static: StaticStore
    partitions: int
    workers: int
    distributor: DynamicDistributor | None
    event_time: bool
    batch_version: StaticVersion
    shape: str
    streaming: bool = False
    counts: bool = False

    def task(self) -> TaskId:
        """Return the id of the task that runs this code.

        Raises
        ------
        RunError
            The task belongs to a stream, but Spark does not provide its epoch.
        """
        return current_epoch() if self.streaming else current_task()

    def log(self, query: str) -> EpochLog:
        """Return the epoch log of a query."""
        return EpochLog(self.epochs.under(query))

    def decide(self, task: TaskId, counted: PartitionWork | None = None) -> EpochPlan:
        """Decide and store the plan of an epoch, or return the plan that is already stored.

        Parameters
        ----------
        task
            A task of the epoch.
        counted
            The work of a batch by partition; None: it was not counted.

        Raises
        ------
        RunError
            The static data, or the log, cannot be read.
        """
        if task.query == BATCH:
            self.static.check(self.batch_version)
            return self._of_batch(task, self._counted(counted))
        log = self.log(task.query)
        settled, last = log.plans(task.epoch, task.epoch - 1)
        if settled is not None:
            self.static.check(settled.version)
            return self._fitting(settled)
        if last is None and task.epoch:
            last = log.last_plan(task.epoch)
        return log.settle(self._first(task.epoch) if last is None else self._next(log, last, task))

    def recall(self, task: TaskId) -> EpochPlan:
        """Read the stored plan of a task's epoch.

        Raises
        ------
        RunError
            The plan cannot be read, or this host does not see it.
        """
        if task.query == BATCH:
            unknown = Placement(())
            return self._of_batch(task, unknown if self.counts else self._by_turn)
        log = self.log(task.query)
        settled = log.plan(task.epoch)
        if settled is None:
            self.static.check(self.static.latest(self.batch_version))
            raise unseen(log.path(task.epoch), "the host that decided this epoch")
        return self._fitting(settled)

    @property
    def _by_turn(self) -> Placement:
        return Placement(first_owners(self.partitions, self.workers))

    def _counted(self, counted: PartitionWork | None) -> Placement:
        if counted is None or self.distributor is None:
            return self._by_turn
        return self.distributor.look_once(self._by_turn, counted, self.workers)

    def _of_batch(self, task: TaskId, where: Placement) -> EpochPlan:
        return EpochPlan(task.epoch, self.batch_version, where.owners, copies=where.copies)

    def _fitting(self, plan: EpochPlan) -> EpochPlan:
        """Fit a stored plan to the slots, of which there may be fewer after a restart."""
        slots = {*plan.owners}.union(*plan.copies.values())
        if max(slots) < self.workers:
            return plan
        owners = tuple(owner % self.workers for owner in plan.owners)
        return replace(plan, owners=owners, copies={})

    def _first(self, epoch: int) -> EpochPlan:
        clock = None if self.event_time else time.time()
        version = self._latest(self.batch_version)
        return EpochPlan(epoch, version, self._by_turn.owners, clock=clock, workers=self.workers)

    def _latest(self, known: StaticVersion) -> StaticVersion:
        latest = self.static.latest(known)
        if self.static.manifest(latest).shape != self.shape:
            message = (
                f"the static data in {self.static.url} were created again for another join while "
                "this one ran: their columns or partitions are different; call balanced_join again"
            )
            raise RunError(message)
        return latest

    def _next(self, log: EpochLog, last: EpochPlan, task: TaskId) -> EpochPlan:
        started = time.perf_counter()
        records = log.records(last.epoch)
        began, now = self._clock(last, records)
        where, window = last.placement, last.window
        if last.workers not in (0, self.workers):
            where = self._by_turn
        elif self.distributor is None or not self.distributor.copies:
            where = Placement(where.owners)
        if last.clock is not None and now is not None and now < last.clock:
            window = window.moved(now - last.clock)
        if self.distributor is not None and began is not None and now is not None:
            work = EpochLog.work(records, self.partitions)
            window = self.distributor.take_in(window, work, began=began, now=now)
            window, where = self.distributor.look(
                window, where, self.workers, now=now, epoch=task.epoch
            )
        return EpochPlan(
            task.epoch,
            self._latest(last.version),
            where.owners,
            last.redistributions + (where != last.placement),
            where.came(last.placement),
            now,
            window,
            time.perf_counter() - started,
            self.workers,
            where.copies,
        )

    def _clock(
        self, last: EpochPlan, records: list[SlotRecord]
    ) -> tuple[float | None, float | None]:
        """Return the time of the clock at the beginning of the last epoch, and the time now.

        Usually the clock never goes back. It goes back only if the whole last epoch was behind the
        clock by more than one period of the Distributor, because it would otherwise stand still
        until the stream had caught up.
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
    """Return the earliest begin and latest end of slots that end within an hour of the median."""
    starts = [each.began for each in records if each.began is not None]
    ends = [each.ended for each in records if each.ended is not None]
    if not ends:
        return None, None
    steady = in_step(ends, FAR)
    return (
        min(start for start, keeps in zip(starts, steady, strict=True) if keeps),
        max(end for end, keeps in zip(ends, steady, strict=True) if keeps),
    )


class DecideTask:
    """Decides and stores the plan of its epoch, and returns the slots of all partitions.

    Spark runs this task as a scalar subquery, so it ends before any task begins that uses its
    value. The input is one row: the counts of a batch, or a row that is ignored.
    """

    def __init__(self, plans: EpochPlans) -> None:
        self._plans = plans

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Replace the input row with one that contains the slots."""
        for batch in batches:
            counted = self._counted(batch) if COUNTS in batch.schema.names else None
            plan = self._plans.decide(self._plans.task(), counted)
            places = pack_places(plan.owners, plan.copies, self._plans.workers)
            cell = pa.array([places], pa.list_(pa.int64()))
            yield pa.RecordBatch.from_arrays([cell], names=["places"])

    def _counted(self, batch: pa.RecordBatch) -> PartitionWork:
        """Convert the counts of a batch to work, as if each item took one second."""
        items = np.zeros(self._plans.partitions, dtype=np.int64)
        distinct = 0
        for count in batch[COUNTS][0].as_py():
            items[count["partition"]] = count["items"]
            distinct += count["distinct"]
        return PartitionWork(items, items.astype(np.float64), distinct)
