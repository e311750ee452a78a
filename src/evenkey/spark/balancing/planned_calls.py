"""Plan an intercepted call from the loads in a profile, and run it by this plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pyspark.sql import Column

from evenkey.core.errors import ConfigurationError
from evenkey.spark.balancing.known_files import partitioned_by_plan, plan_of_files
from evenkey.spark.balancing.known_groups import (
    grouped_by_plan,
    placed_by_plan,
    plan_of_groups,
)
from evenkey.spark.balancing.known_joins import KnownJoin
from evenkey.spark.plans.known_loads import KnownLoads
from evenkey.spark.windows.column_parts import name_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from evenkey.core.profiles import Operation
    from evenkey.spark.intercepted import InterceptedCall
    from evenkey.spark.intercepted.intercepted_call import Repartitioned

_SIDES = 2


class PlannedCall(NamedTuple):
    """A call with the plan by which it can run.

    Parameters
    ----------
    work
        float64[W], planned work of each task.
    rows
        float64[W], number of rows that each task should read.
    copies
        Rows that tasks read over the rows of the inputs, at least 1.
    hot, others
        Work of each hot key, float64[k], and of all other keys together.
    make
        Makes the result of the call; for a write, the rows to write.
    """

    work: NDArray[np.float64]
    rows: NDArray[np.float64]
    copies: float
    hot: NDArray[np.float64]
    others: float
    make: Callable[[], DataFrame]


def planned_call(call: InterceptedCall, operation: Operation, tasks: int) -> PlannedCall:
    """Plan a call for a number of tasks; no key is counted, and no job runs.

    Parameters
    ----------
    call
        The call.
    operation
        What the profile has of it; at least one input has keys.
    tasks
        Number of tasks.

    Raises
    ------
    ConfigurationError
        The profile lacks keys of an input. When the call is made: evenkey cannot place rows by
        these keys.
    """
    plan = {"join": _join, "window": _window, "write": _write}.get(call.kind, _group)
    return plan(call, operation, tasks)


def _group(call: InterceptedCall, operation: Operation, tasks: int) -> PlannedCall:
    loads = KnownLoads.of(operation.inputs, operation.runs)
    plan = plan_of_groups(loads, tasks)

    def make() -> DataFrame:
        grouped: Any = grouped_by_plan(call.frames, call.keys, plan)
        made: DataFrame = getattr(grouped, call.method)(*call.arguments, **call.named)
        return made

    return PlannedCall(plan.loads, plan.loads, 1.0, loads.rows, loads.others, make)


def _join(call: InterceptedCall, operation: Operation, tasks: int) -> PlannedCall:
    if len(operation.inputs) != _SIDES:
        message = "the profile has the keys of one side only; record the job again"
        raise ConfigurationError(message)
    left, right = (KnownLoads.of([each], operation.runs) for each in operation.inputs)
    join = KnownJoin.of(left, right, call.how, tasks)
    counts = join.counts
    others = max(0.0, float(counts.bucket_work.sum() - counts.work.sum()))
    work = join.rows if join.plan.plan is None else join.plan.plan.loads

    def make() -> DataFrame:
        one, other = call.frames
        return join.joined(one, other, call.keys[0])

    return PlannedCall(work, join.rows, join.copies, counts.work, others, make)


def _window(call: InterceptedCall, operation: Operation, tasks: int) -> PlannedCall:
    loads = KnownLoads.of(operation.inputs, operation.runs)
    plan = plan_of_groups(loads, tasks)

    def make() -> DataFrame:
        (frame,), (names,) = call.frames, call.keys
        made: DataFrame = call.spark(placed_by_plan(frame, names, plan))
        return made

    return PlannedCall(plan.loads, plan.loads, 1.0, loads.rows, loads.others, make)


def _write(call: InterceptedCall, operation: Operation, tasks: int) -> PlannedCall:
    before = call.repartitioned
    if before is None:
        raise AssertionError
    loads = KnownLoads.of(operation.inputs, operation.runs)
    plan = plan_of_files(loads, tasks)

    def make() -> DataFrame:
        return partitioned_by_plan(before.frame, list(call.keys[0]), plan)

    return PlannedCall(plan.loads, plan.loads, 1.0, loads.rows, loads.others, make)


def files_of(call: InterceptedCall, slots: int) -> int:
    """Return the number of tasks of a write.

    It is the number of partitions that the user passed to ``repartition``, else the number of
    slots, with which a large value gets fewest files.

    Raises
    ------
    ConfigurationError
        The rows are not repartitioned by the partition columns, or Spark has cached them.
    """
    before, (frame,) = call.repartitioned, call.frames
    if before is None or _names(before, frame.sparkSession) != {*call.keys[0]}:
        message = "its rows are not repartitioned by the partition columns, so no plan is faster"
        raise ConfigurationError(message)
    if frame.is_cached:
        message = "its repartitioned rows are cached, and a plan would compute them again"
        raise ConfigurationError(message)
    return partitions_of(call, slots)


def partitions_of(call: InterceptedCall, otherwise: int) -> int:
    """Return the number of partitions that the user passed to ``repartition`` before a write."""
    before = call.repartitioned
    return otherwise if before is None or before.number is None else before.number


def _names(before: Repartitioned, session: SparkSession) -> set[str | None]:
    return {name_of(session, each) if isinstance(each, Column) else each for each in before.columns}
