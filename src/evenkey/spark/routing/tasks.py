"""Routing inside a task: the task's own router processes one Arrow batch after another."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator  # noqa: TC003 - Spark reads the hints of the functions
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa

from evenkey.core.errors import ConfigurationError
from evenkey.core.event_clock import EventClock
from evenkey.core.extras import check_extra
from evenkey.groupings import planner_of
from evenkey.spark.keys.event_times import seconds_of
from evenkey.spark.plans.batch_plans import needs_plan
from evenkey.spark.plans.epoch_statistics import TaskStatistics
from evenkey.spark.plans.places import tables_of
from evenkey.spark.plans.plan_source import Latest, Learned
from evenkey.spark.plans.tables import RoutingTable
from evenkey.spark.sessions.before_epoch import before_epoch
from evenkey.spark.sessions.task_id import current_epoch, current_task

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping, Router, Snapshot
    from evenkey.spark.plans.plan_source import PlanSource
    from evenkey.spark.sessions.task_id import TaskId

Load = Literal["epoch", "lifetime"]
"""Whether the loads of a source start at zero in each epoch, or count over its lifetime.

>>> from typing import get_args
>>> get_args(Load)
('epoch', 'lifetime')
"""


def routing_task(
    session: SparkSession,
    grouping: Grouping,
    workers: int,
    *,
    rate: float = 100.0,
    load: Load = "epoch",
    state: str | Path | Store | None = None,
    plan: Snapshot | None = None,
    weighted: bool = False,
    streaming: bool,
    learn: bool | Learned = True,
) -> RoutingTask:
    """Make the object with which Python tasks route the rows that they produce.

    Pass the input of these tasks through `RoutingTask.decided` first.

    Parameters
    ----------
    session
        Session in which the tasks run.
    grouping, workers, rate, load, state
        As for `evenkey.spark.routing.add_worker.routed`.
    plan
        Plan that ``Grouping.plan`` made from the frequencies of keys. The plan names keys by their
        hashes, Spark's ``xxhash64``. None: there is no plan.
    weighted
        Whether messages count by their weights; otherwise each message counts 1.
    streaming
        Whether the tasks belong to a stream. The routers of an epoch then start from what routers
        learned in earlier epochs.
    learn
        How ``planned`` gets the plans of a stream. True: from what the tasks report. False: another
        planner writes plans to `state`. A `Learned`: this plan source makes plans from what workers
        report, and `state` is not used.

    Raises
    ------
    ConfigurationError
        The grouping needs a plan, and `plan` is None; or its routers need numba, which is not
        installed.
    """
    if grouping.compiled:
        check_extra("numba", "kernels", f"grouping {grouping}")
    if plan is None and needs_plan(grouping):
        message = (
            f"grouping {grouping}: it must know how frequent each key is before the first row "
            "comes: use a grouping that learns these frequencies, such as dkg or dchoices"
        )
        raise ConfigurationError(message)
    source: PlanSource[RoutingTable] | None = None
    learned = None
    if streaming and planner_of(grouping) is not None and learn is not True:
        source = learn or Latest(*tables_of(session, state, str(grouping), workers))
    elif streaming and (grouping.learns or load == "lifetime"):
        tables, mark = tables_of(session, state, str(grouping), workers)
        source = learned = Learned(tables, mark, OfRouters(grouping))
    return RoutingTask(
        grouping, workers, load, rate, plan or {}, source, learned, weighted=weighted
    )


@dataclass(frozen=True)
class OfRouters:
    """Makes the next routing table from the statistics that routers reported."""

    grouping: Grouping

    def __call__(self, before: RoutingTable, reported: dict[int, TaskStatistics]) -> RoutingTable:
        """Make the next table; a source that reported no statistics keeps its local state."""
        in_order = [reported[source] for source in sorted(reported)]
        local = {source: each.local for source, each in reported.items() if each.local}
        memory = self.grouping.merge_memories([each.memory for each in in_order])
        return RoutingTable(memory, {**before.local, **local})


class RoutingTask:
    """Routes the Arrow batches of a partition inside a task; each task is one source.

    Each task starts a new router from the routing table of its epoch. So the worker of a row is a
    pure function of that table, of this row and of all earlier rows of the partition.

    Parameters
    ----------
    grouping, workers, load, rate, plan, weighted
        As for `routing_task`.
    source
        Plan source that supplies the routing table of each epoch; None: there are no tables.
    learned
        Plan source to which routers report what they learned; None: routers report nothing.
    """

    def __init__(
        self,
        grouping: Grouping,
        workers: int,
        load: Load,
        rate: float,
        plan: Snapshot,
        source: PlanSource[RoutingTable] | None,
        learned: Learned | None,
        *,
        weighted: bool = False,
    ) -> None:
        self._grouping = grouping
        self._workers = workers
        self._load = load
        self._rate = rate
        self._plan = plan
        self._plans = source
        self._learned = learned
        self._weighted = weighted

    def decided(self, df: DataFrame) -> DataFrame:
        """Make rows wait until the routing table of their epoch is decided, if tables are used."""
        return df if self._plans is None else before_epoch(df, self._plans.decide)

    def route_keys(self, batches: Iterator[pa.Array]) -> Iterator[pa.Array]:
        """Route batches of hashes; the time of a row is its position divided by the rate."""
        with self.source() as source:
            for hashes in batches:
                yield source.route(hashes.to_numpy().view(np.uint64))

    def route_pairs(self, batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        """Route batches of hashes and times (in seconds; null means unknown)."""
        with self.source() as source:
            for hashes, seconds in batches:
                yield source.route(hashes.to_numpy().view(np.uint64), seconds_of(seconds))

    @contextlib.contextmanager
    def source(self) -> Iterator[Source]:
        """Enter a `Source` for the running task; on exit, report what its router learned."""
        task = current_task() if self._plans is None else current_epoch()
        make = self._grouping.follower if self._learned is None else self._grouping.router
        router = make(self._workers, task.partition)
        router.remember(self._plan)
        if self._plans is not None:
            self._recall(router, self._plans.recall(task), task)
        source = Source(router, self._rate, weighted=self._weighted)
        yield source
        if self._learned is not None and source.routed:
            self._learned.report(task, TaskStatistics(router.memory(), self._local_state(router)))

    def _recall(self, router: Router, table: RoutingTable, task: TaskId) -> None:
        router.remember(table.memory)
        if self._load == "lifetime" and task.partition in table.local:
            router.restore(table.local[task.partition])

    def _local_state(self, router: Router) -> dict[str, NDArray[np.generic]]:
        if self._load != "lifetime":
            return {}
        snapshot = router.snapshot()
        return {name: snapshot[name] for name in router.local_fields}


class Source:
    """Feeds the batches of one task to its router.

    Parameters
    ----------
    router
        Router of the task.
    rate
        Messages per second, used to compute the times of messages if no times are given.
    weighted
        Whether messages count by their weights; otherwise each message counts 1.
    """

    def __init__(self, router: Router, rate: float, *, weighted: bool = False) -> None:
        self._router = router
        self._weighted = weighted
        self._rate = rate
        self._clock = EventClock(start=router.now)
        self.routed = 0

    def route(
        self,
        hashes: NDArray[np.uint64],
        seconds: NDArray[np.float64] | None = None,
        weights: pa.Array | None = None,
    ) -> pa.Array:
        """Return the worker of each message.

        Parameters
        ----------
        hashes
            uint64[n], hashes of the keys.
        seconds
            float64[n], event times; NaN where the time is unknown. An `EventClock` follows these
            times, and the router gets the times of the clock. None: the time of a message is its
            position divided by the rate.
        weights
            int64[n], weights of the messages; a weight that is null or below 1 counts 1. Only used
            if messages count by their weights.

        Returns
        -------
        int32[n]
        """
        if seconds is None:
            times = np.arange(self.routed, self.routed + len(hashes)) / self._rate
        else:
            times = self._clock.follow(seconds)
        self.routed += len(hashes)
        counts = None
        if self._weighted and weights is not None:
            known = weights.fill_null(1).to_numpy(zero_copy_only=False)
            counts = np.maximum(known, 1).astype(np.int64)
        return pa.array(self._router.route(hashes, times, counts))
