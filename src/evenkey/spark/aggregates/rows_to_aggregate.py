"""What `aggregate` does with the rows of a batch or a stream before it routes them."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple, Protocol

from evenkey.aggregators import WORKER
from evenkey.groupings import planner_of
from evenkey.spark.aggregates.key_counts import CountingWorker, OfWorkers
from evenkey.spark.aggregates.partial_task import WorkerTask
from evenkey.spark.aggregates.unchanged import SameAggregator, with_same_aggregator
from evenkey.spark.keys.event_times import Windows, without_far_ahead
from evenkey.spark.keys.given_columns import time_column
from evenkey.spark.plans.places import check_state, tables_of
from evenkey.spark.plans.plan_source import Learned
from evenkey.spark.sessions.query_events import listen

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame

    from evenkey.aggregators import Aggregator
    from evenkey.core.stores import SharedMark, Store
    from evenkey.groupings import Grouping
    from evenkey.spark.plans.tables import RoutingTables


class Prepared(NamedTuple):
    """Rows to route, and what else depends on whether they are those of a batch or a stream."""

    df: DataFrame
    learn: bool | Learned
    """How ``planned`` gets the plans of a stream, as for `routed`."""
    worker: Callable[[Aggregator, tuple[str, ...]], WorkerTask]
    """Function that makes a worker's task from the bound aggregator and the grouping columns."""


class RowsToAggregate(Protocol):
    """The rows of a batch or a stream."""

    def prepared(self) -> Prepared:
        """Return the rows to route.

        Raises
        ------
        ConfigurationError
            The windows, or the number of workers or the time of a stream, are invalid.
        RunError
            The state cannot be written.
        """


@dataclass(frozen=True)
class BatchRows:
    """The rows of a batch: nothing is learned from them."""

    df: DataFrame
    windows: Windows

    def prepared(self) -> Prepared:
        """Return the rows as they are."""
        self.windows.check(self.df)
        return Prepared(self.df, True, WorkerTask)  # noqa: FBT003 - as for `routed`


@dataclass(frozen=True)
class StreamRows:
    """The rows of a stream: workers report their keys, and a restart must keep the aggregator.

    Parameters
    ----------
    df, grouping, workers, aggregator, state
        As for `evenkey.spark.aggregates.aggregation.aggregate`.
    windows
        Options of the windows.
    """

    df: DataFrame
    windows: Windows
    grouping: Grouping
    workers: int
    aggregator: Aggregator
    state: str | Path | Store | None

    def prepared(self) -> Prepared:
        """Leave out rows far ahead, and make rows wait for the check of the aggregator."""
        df, session = self.df, self.df.sparkSession
        self.windows.check(df)
        time, max_ahead = self.windows.time, self.windows.max_ahead
        if time is not None and max_ahead is not None:
            df = without_far_ahead(df, time_column(df, time), max_ahead)
        self.grouping.router(self.workers)
        check_state(self.state)
        learn: bool | Learned = True
        worker: Callable[[Aggregator, tuple[str, ...]], WorkerTask] = WorkerTask
        planned = planner_of(self.grouping)
        learns = planned is not None and planned.learns_epochs
        if learns or self.state is not None:
            tables, mark = tables_of(session, self.state, str(self.grouping), self.workers)
        if planned is not None and learns:
            learn = Learned(tables, mark, OfWorkers(planned, self.workers))
            worker = functools.partial(CountingWorker, learned=learn, grouping=planned)
        if self.state is not None:
            df = with_same_aggregator(df, self._known(tables, mark))
        listen(session)  # the listener says why Spark refuses the states in a checkpoint
        return Prepared(df, learn, worker)

    def _known(self, tables: RoutingTables, mark: SharedMark) -> SameAggregator:
        why, chosen = "", self.aggregator
        if WORKER in chosen.columns:
            why = f"{chosen.name} uses the workers that a key is on while a window is open"
        return SameAggregator(tables, mark, str(chosen), chosen.functions_digest, why)
