"""Route: give each row the worker that a grouping chooses for its key."""

from __future__ import annotations

from collections.abc import Iterator  # noqa: TC003 - Spark reads the hints of the functions
from typing import TYPE_CHECKING, Literal

import numpy as np
import pyarrow as pa
from pyspark.sql import functions as F

from evenkey.errors import ConfigurationError
from evenkey.groupings import Grouping, Key, Planned, Router, Shuffle, parse
from evenkey.spark.columns import absent, key_columns, row_numbers, time_column
from evenkey.spark.learning import Lesson, LessonCollector
from evenkey.spark.planned import route_planned
from evenkey.spark.routing_table import RoutingTables
from evenkey.spark.session import temporary_directory
from evenkey.spark.task import TaskId, current_task

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray
    from pyspark import Accumulator
    from pyspark.sql import Column, DataFrame

    from evenkey.groupings import Snapshot

__all__ = ["Load", "route"]

Load = Literal["epoch", "lifetime"]


def route(
    df: DataFrame,
    key: str | Sequence[str],
    grouping: str | Grouping,
    workers: int,
    *,
    time: str | None = None,
    rate: float = 100.0,
    load: Load = "epoch",
    tables: str | Path | None = None,
    plan: Snapshot | None = None,
    column: str = "worker",
    position: str | None = None,
    learn: bool = True,
) -> DataFrame:
    """Add the worker of each row, chosen message by message inside each task.

    Each task is one source: it routes its partition's rows in order, with its own local load
    estimate, as a pure function of these rows and of the epoch's routing table. Only the
    hash of the key (and the time, where the grouping uses it) goes to Python; all other
    columns stay in the JVM. Key grouping, planned grouping, and shuffle grouping of a batch, are
    native expressions, without Python. Planned grouping counts a batch before it routes it, in
    a job of its own that this call runs, unless `tables` holds a plan (see `fit`).

    Parameters
    ----------
    df
        Batch or streaming.
    key
        Key column, or columns that form the key together.
    grouping
        A grouping or its spelling, such as ``"pkg(choices=3)"``.
    workers
        How many workers, at least 1.
    time
        Timestamp column for groupings that use times; rows should come about in its order
        (a time that falls behind counts as the latest one before it). None: the epoch's
        processing time in a stream, the position over `rate` in a batch.
    rate
        Messages per second and source that stand for time in a batch without `time`.
    load
        ``epoch``: local loads start at zero each epoch, so that each epoch is balanced in
        itself. ``lifetime``: they carry over, as in the papers.
    tables
        Directory of the routing tables that carry hot keys from epoch to epoch, beside the
        query's checkpoint; reachable from driver and executors. None: a temporary directory
        of this process, so a restarted query learns anew.
    plan
        For groupings that are given the frequencies of keys: what ``Grouping.plan`` made of
        them, with hashes as Spark's ``xxhash64`` gives them.
    column
        Name of the new column.
    position
        Column of whole numbers that numbers the rows, such as Kafka's offset. By it planned
        grouping deals the rows of split keys evenly, where a stream has no other numbers.
    learn
        Whether planned grouping makes its plans itself as a stream flows by; False: somebody
        else writes them into `tables`.

    Returns
    -------
    DataFrame
        `df` with the int column `column`, 0 to `workers` - 1. The column is nondeterministic
        to Spark's optimizer, so that it is evaluated once; place or aggregate by it as it is.

    Raises
    ------
    ConfigurationError
        A column is missing or already there, the grouping or `workers` cannot be, or the
        grouping must be told a plan and there is none.

    Notes
    -----
    A null key is a key like any other. A retried task must see its rows in the same order:
    where the input follows a shuffle, Spark 4.3 guarantees this by
    ``spark.sql.shuffle.orderIndependentChecksum.enabled``, on by default.
    """
    grouping = parse(grouping)
    grouping.router(workers)
    _check_plan(grouping, plan)
    keys = key_columns(df, key)
    clock = F.current_timestamp() if time is None else time_column(df, time)
    absent(df, column)
    if load not in ("epoch", "lifetime"):
        message = f"load = {load!r}: must be 'epoch' or 'lifetime'"
        raise ConfigurationError(message)
    if not rate > 0:
        message = f"rate = {rate}: must be above 0 messages a second"
        raise ConfigurationError(message)
    hashed = F.xxhash64(*keys)
    if isinstance(grouping, Planned):
        return route_planned(
            df,
            hashed,
            grouping,
            workers,
            plan=plan,
            tables=tables,
            column=column,
            position=None if position is None else key_columns(df, position)[0],
            learn=learn,
        )
    native = _native(grouping, hashed, workers, streaming=df.isStreaming)
    if native is not None:
        return df.withColumn(column, native)
    session = df.sparkSession
    accumulator, store = None, None
    if df.isStreaming and (grouping.learns or load == "lifetime"):
        store = RoutingTables(
            tables or temporary_directory(df.sparkSession, "tables"), str(grouping), workers
        )
        collector = LessonCollector(store, grouping)
        accumulator = session.sparkContext.accumulator({}, collector)
    task = RoutingTask(grouping, workers, load, rate, plan or {}, store, accumulator)
    columns = [hashed]
    if grouping.uses_times and (time is not None or df.isStreaming):
        columns.append(clock.cast("double"))
    function = task.route_pairs if len(columns) > 1 else task.route_keys
    # Its types ask for the kind of UDF, which Spark itself would rather infer from the hints.
    udf = F.arrow_udf(function, "int")  # type: ignore[call-overload]
    return df.withColumn(column, udf.asNondeterministic()(*columns))


def _check_plan(grouping: Grouping, plan: Snapshot | None) -> None:
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


def _native(grouping: Grouping, hashed: Column, workers: int, *, streaming: bool) -> Column | None:
    """The grouping as an expression of Spark's own, where there is one."""
    if isinstance(grouping, Key):
        return F.pmod(hashed, F.lit(workers)).cast("int")
    # Spark does not number the rows of a stream.
    if isinstance(grouping, Shuffle) and not streaming:
        return F.pmod(row_numbers(), F.lit(workers)).cast("int")
    return None


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
        position = 0

        def timed() -> Iterator[tuple[pa.Array, NDArray[np.float64]]]:
            nonlocal position
            for hashes in batches:
                times = np.arange(position, position + len(hashes)) / self._rate
                position += len(hashes)
                yield hashes, times

        yield from self._route(timed())

    def route_pairs(self, batches: Iterator[tuple[pa.Array, pa.Array]]) -> Iterator[pa.Array]:
        """Route batches of hashes and times (seconds, null: unknown)."""

        def ordered() -> Iterator[tuple[pa.Array, NDArray[np.float64]]]:
            latest = -np.inf
            for hashes, seconds in batches:
                times = seconds.fill_null(-np.inf).to_numpy(zero_copy_only=False)
                times = np.maximum.accumulate(np.maximum(times, latest))
                latest = times[-1] if len(times) else latest
                yield hashes, np.where(np.isinf(times), 0.0, times)

        yield from self._route(ordered())

    def _route(self, batches: Iterator[tuple[pa.Array, NDArray[np.float64]]]) -> Iterator[pa.Array]:
        task = current_task()
        router = self._grouping.router(self._workers, task.partition)
        router.remember(self._plan)
        if self._tables is not None:
            self._recall(router, self._tables, task)
        routed = 0
        for hashes, times in batches:
            routed += len(hashes)
            yield pa.array(router.route(hashes.to_numpy().view(np.uint64), times))
        if self._accumulator is not None and routed:
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
