"""What routes inside a task: one source's router, fed batch by batch."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator  # noqa: TC003 - Spark reads the hints of the functions
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from evenkey.checking import shown
from evenkey.errors import ConfigurationError
from evenkey.spark.learning import Lesson, LessonCollector
from evenkey.spark.routing_table import RoutingTables
from evenkey.spark.session import temporary_directory
from evenkey.spark.task import TaskId, current_task

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark import Accumulator
    from pyspark.sql import SparkSession

    from evenkey.groupings import Grouping, Router, Snapshot

__all__ = ["Load", "RoutingTask", "Source", "check_plan", "routing_task"]

Load = Literal["epoch", "lifetime"]


def check_plan(grouping: Grouping, plan: Snapshot | None) -> None:
    """Make sure that a grouping is told a plan if it needs one, and none if it takes none.

    Raises
    ------
    ConfigurationError
        It is not so.
    """
    if plan is not None and not isinstance(plan, dict):
        message = f"plan = {shown(plan)}: pass what {grouping.name}'s plan(...) gave"
        raise ConfigurationError(message)
    if plan is None and grouping.given_frequencies and not grouping.learns:
        message = (
            f"grouping {grouping}: it must know how frequent each key is before the first row "
            "comes: count a batch first and pass plan=grouping.plan(hashes, counts, workers), "
            "or use a grouping that learns it, such as dkg or dchoices"
        )
        raise ConfigurationError(message)
    if plan is not None and not (grouping.given_frequencies or grouping.plans_epochs):
        message = f"grouping {grouping}: it takes no plan; leave plan away"
        raise ConfigurationError(message)


def routing_task(
    session: SparkSession,
    grouping: Grouping,
    workers: int,
    *,
    rate: float = 100.0,
    load: Load = "epoch",
    tables: str | Path | None = None,
    plan: Snapshot | None = None,
    streaming: bool,
) -> RoutingTask:
    """Make what routes in each task, for tasks in Python that route what they have made.

    Parameters
    ----------
    session
        Where the tasks run.
    grouping, workers, rate, load, tables, plan
        As for `route`.
    streaming
        Whether the tasks belong to a stream, whose epochs hand on what they have learned.

    Raises
    ------
    ConfigurationError
        As `check_plan` does.
    """
    check_plan(grouping, plan)
    accumulator, store = None, None
    if streaming and (grouping.learns or load == "lifetime"):
        store = RoutingTables(
            tables or temporary_directory(session, "tables"), str(grouping), workers
        )
        collector = LessonCollector(store, grouping)
        accumulator = session.sparkContext.accumulator({}, collector)
    return RoutingTask(grouping, workers, load, rate, plan or {}, store, accumulator)


class RoutingTask:
    """What runs in each task: one source's router over the partition's Arrow batches."""

    def __init__(
        self,
        grouping: Grouping,
        workers: int,
        load: Load,
        rate: float,
        plan: Snapshot,
        tables: RoutingTables | None,
        accumulator: Accumulator[dict[TaskId, Lesson]] | None,
    ) -> None:
        self._grouping = grouping
        self._workers = workers
        self._load = load
        self._rate = rate
        self._plan = plan
        self._tables = tables
        self._accumulator = accumulator

    def route_keys(self, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        """Route batches of hashes, with the position over the rate as time."""
        with self.source() as source:
            for hashes in batches:
                yield source.route(hashes.to_numpy().view(np.uint64))

    def route_pairs(self, batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        """Route batches of hashes and times (seconds, null: unknown)."""
        with self.source() as source:
            for hashes, seconds in batches:
                yield source.route(hashes.to_numpy().view(np.uint64), seconds)

    @contextlib.contextmanager
    def source(self) -> Iterator[Source]:
        """Give the source of the task that runs this; at the end it hands on what it learned."""
        task = current_task()
        router = self._grouping.router(self._workers, task.partition)
        router.remember(self._plan)
        if self._tables is not None:
            self._recall(router, self._tables, task)
        source = Source(router, self._rate)
        yield source
        if self._accumulator is not None and source.routed:
            self._accumulator.add({task: Lesson(router.memory(), self._local_state(router))})

    def _recall(self, router: Router, tables: RoutingTables, task: TaskId) -> None:
        table = tables.under(task.query).read(task.epoch)
        router.remember(table.memory)
        if self._load == "lifetime" and task.partition in table.local:
            router.restore(table.local[task.partition])

    def _local_state(self, router: Router) -> dict[str, NDArray[np.generic]]:
        if self._load != "lifetime":
            return {}
        snapshot = router.snapshot()
        return {name: snapshot[name] for name in router.local_fields}


class Source:
    """One task's router, fed batch by batch.

    Parameters
    ----------
    router
        Gives the workers.
    rate
        Messages per second that stand for time where there are no times.
    """

    def __init__(self, router: Router, rate: float) -> None:
        self._router = router
        self._rate = rate
        self._latest = -np.inf
        self.routed = 0

    def route(self, hashes: NDArray[np.uint64], seconds: pa.Array | None = None) -> pa.Array:
        """Give the worker of each message.

        Parameters
        ----------
        hashes
            uint64[n], of the keys.
        seconds
            double[n], event times, null where unknown; a time that falls behind counts as the
            latest one before it. None: the position over the rate.

        Returns
        -------
        int32[n]
        """
        if seconds is None:
            times = np.arange(self.routed, self.routed + len(hashes)) / self._rate
        else:
            told = seconds.fill_null(-np.inf).to_numpy(zero_copy_only=False)
            told = np.maximum.accumulate(np.maximum(told, self._latest))
            self._latest = told[-1] if len(told) else self._latest
            times = np.where(np.isinf(told), 0.0, told)
        self.routed += len(hashes)
        return pa.array(self._router.route(hashes, times))
