"""The ways in which rows get their workers: by a plan, by their hashes or numbers, or in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as F

from evenkey.groupings import planner_of
from evenkey.spark.keys.given_columns import row_numbers
from evenkey.spark.keys.row_numbers import in_stable_order, order_may_change, own_columns
from evenkey.spark.plans.batch_plans import KeptPlan, needs_plan, plan_by_frequencies, plan_of_batch
from evenkey.spark.plans.lookup import with_planned_worker
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.plans.stream_plans import plans_of_stream
from evenkey.spark.routing.tasks import routing_task
from evenkey.spark.sessions.retries import warn_of_unsafe_retries
from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping, PlannedGrouping, Snapshot
    from evenkey.spark.plans.plan_source import Learned, PlanSource
    from evenkey.spark.plans.tables import RoutingTable
    from evenkey.spark.routing.tasks import Load


@dataclass(frozen=True)
class RowsToRoute:
    """The rows to route, and the checked options of `evenkey.spark.routing.add_worker.routed`.

    Parameters
    ----------
    df, grouping, workers, rate, load, state, column, learn, spread, contents, real_time
        As for `routed`.
    hashed
        Column of the hash of each row's key.
    time
        Timestamps of the rows; None: none are given.
    position
        Column of whole numbers by which rows of split keys are distributed; None: none is given.
    """

    df: DataFrame
    hashed: Column
    grouping: Grouping
    workers: int
    time: Column | None
    rate: float
    load: Load
    state: str | Path | Store | None
    column: str
    position: Column | None
    learn: bool | Learned
    spread: bool
    contents: Sequence[str] | None
    real_time: bool


class Route(Protocol):
    """A way in which rows get their workers."""

    def with_worker(self, given: RowsToRoute) -> DataFrame:
        """Return the rows with the column of their workers.

        Raises
        ------
        ConfigurationError
            The grouping needs a plan for a stream, and there is none; or it needs numba.
        RunError
            The state cannot be read or written.
        """


def route_of(given: RowsToRoute) -> Route:
    """Choose the way in which rows get their workers."""
    planned = planner_of(given.grouping)
    natively = routes_natively(given.grouping, streaming=given.df.isStreaming, spread=given.spread)
    if planned is not None and not given.df.isStreaming:
        return ByPlanOfBatch(planned, natively)
    if planned is not None and natively:
        return ByPlansOfStream(planned)
    return ByExpression() if natively else InTasks()


def routes_natively(grouping: Grouping, *, streaming: bool, spread: bool = False) -> bool:
    """Return whether rows are routed by Spark's own expressions, without Python.

    Parameters
    ----------
    grouping
        Grouping that routes the rows.
    streaming
        Whether the rows are those of a stream.
    spread
        As for `evenkey.spark.routing.add_worker.routed`. If the keys of a batch are counted first,
        the batch is routed natively in every case; this function does not consider that.
    """
    planned = planner_of(grouping)
    if planned is not None:
        return not (spread and planned.spreads_surprises)
    # Spark does not number the rows of a stream.
    return grouping.native == "hash" or (grouping.native == "row number" and not streaming)


@dataclass(frozen=True)
class ByPlanOfBatch:
    """Routes a batch by its plan, which is read from the state or made from the counted keys.

    Parameters
    ----------
    grouping
        Grouping that makes the plan.
    natively
        Whether rows are routed without Python under any plan. Otherwise they go through Python,
        unless the plan was made from these rows.
    """

    grouping: PlannedGrouping
    natively: bool

    def with_worker(self, given: RowsToRoute) -> DataFrame:
        """Find or make the plan, and look up the worker of each row in it."""
        kept = KeptPlan.at(given.df.sparkSession, given.state, str(self.grouping), given.workers)
        plan, of_these_rows = plan_of_batch(
            given.df, given.hashed, self.grouping, given.workers, kept
        )
        if not (self.natively or of_these_rows):
            return InTasks(plan).with_worker(given)
        return _looked_up(given, given.df, self.grouping, Fixed(plan))


@dataclass(frozen=True)
class ByPlansOfStream:
    """Routes a stream by the plan of each epoch, without Python."""

    grouping: PlannedGrouping

    def with_worker(self, given: RowsToRoute) -> DataFrame:
        """Look up the worker of each row in the plan of the epoch."""
        df, source = plans_of_stream(
            given.df,
            given.hashed,
            self.grouping,
            given.workers,
            given.state,
            given.learn,
            real_time=given.real_time,
        )
        return _looked_up(given, df, self.grouping, source)


def _looked_up(
    given: RowsToRoute,
    df: DataFrame,
    grouping: PlannedGrouping,
    source: PlanSource[RoutingTable],
) -> DataFrame:
    return with_planned_worker(
        df,
        given.hashed,
        grouping,
        given.workers,
        source,
        given.column,
        given.position,
        contents=given.contents,
    )


class ByExpression:
    """Routes rows by the hashes of their keys or by their numbers, without Python."""

    def with_worker(self, given: RowsToRoute) -> DataFrame:
        """Compute the worker of each row by Spark's own expressions."""
        df, number = given.df, given.hashed
        if given.grouping.native == "row number":
            df, number = in_stable_order(df, df, _used(given)), row_numbers()
        return df.withColumn(given.column, F.pmod(number, F.lit(given.workers)).cast("int"))


@dataclass(frozen=True)
class InTasks:
    """Routes rows in Python; each task is one source with a router.

    Parameters
    ----------
    plan
        Plan of the rows; None: there is none, or it is yet to be made from the keys' frequencies.
    """

    plan: Snapshot | None = None

    def with_worker(self, given: RowsToRoute) -> DataFrame:
        """Send the hashes of the keys to the routers, and the times if the grouping uses times."""
        df, grouping, plan = given.df, given.grouping, self.plan
        if needs_plan(grouping):
            kept = KeptPlan.at(df.sparkSession, given.state, str(grouping), given.workers)
            plan = plan_by_frequencies(df, given.hashed, grouping, given.workers, kept)
        task = routing_task(
            df.sparkSession,
            grouping,
            given.workers,
            rate=given.rate,
            load=given.load,
            state=given.state,
            plan=plan,
            streaming=df.isStreaming,
            learn=given.learn,
        )
        if not df.isStreaming:
            after = [] if given.time is None else [given.time]
            df = in_stable_order(df, df, _used(given), after=after)
        elif order_may_change(df):
            why = f"{grouping} places the rows of a stream by their order"
            warn_of_unsafe_retries(df.sparkSession, why)
        columns = [given.hashed]
        if grouping.uses_times and (given.time is not None or df.isStreaming):
            clock = F.current_timestamp() if given.time is None else given.time
            columns.append(clock.cast("double"))
        function = task.route_pairs if len(columns) > 1 else task.route_keys
        # PySpark's type stubs require the kind of UDF; at run time Spark infers it from type hints.
        in_worker = in_workers(df.sparkSession, function)
        udf = F.arrow_udf(in_worker, "int")  # type: ignore[call-overload]
        return task.decided(df).withColumn(given.column, udf.asNondeterministic()(*columns))


def _used(given: RowsToRoute) -> list[str]:
    """List the columns that later operators use."""
    return own_columns(given.df) if given.contents is None else [*given.contents]
