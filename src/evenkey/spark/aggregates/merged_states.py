"""Merge the workers' partial aggregates by key: with Spark's own expressions or in Python.

Exact sums of Spark's own expressions raise no error: a sum that does not fit its type is null, and
counted.
"""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from evenkey.aggregators import Algebraic
from evenkey.core.errors import ConfigurationError
from evenkey.spark.aggregates.partial_task import STATES, TIME, FinishTask, MergeTask
from evenkey.spark.keys.given_columns import quoted, same_name
from evenkey.spark.sessions.versions import from_arrow_schema, from_arrow_type
from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from evenkey.aggregators import Aggregator

OVERFLOWS = "evenkey-overflows-"
"""Beginning of the names of metrics that count results which do not fit their type."""


def merge_partials(
    partials: DataFrame,
    aggregator: Aggregator,
    *,
    window: str | None,
    watermark: str,
    zoned: bool = True,
    clock: str | None = None,
) -> DataFrame:
    """Merge partial aggregates by window and key, and compute the results.

    `clock` is a column of timestamps that the watermark of a stream follows instead of the rows'
    own times: while the clock does not advance, all windows stay open and no row is late. Rows with
    different clock values are not merged.

    Column ``window`` is a struct, as Spark's ``groupBy(window)`` returns it. Spark has no
    watermarks on times without a zone. So if the times of the messages have no zone (`zoned` is
    False), the partial aggregates have these times as UTC. This function then removes the zone from
    the windows.

    In a stream, this uses Spark's stateful aggregation with a watermark, in append mode. In a
    batch, states are sorted before they are merged, so that rounding is the same in every run.
    """
    by: tuple[str, ...] = ("key",) if aggregator.scope == "key" else ()
    groups = [F.col(name) for name in by]
    if window is not None:
        if partials.isStreaming:
            partials = partials.withWatermark(clock or TIME, watermark)
        groups = [F.window(TIME, window).alias("window"), *groups]
    how: _Merging = (
        _ByExpressions(aggregator) if isinstance(aggregator, Algebraic) else _InPython(aggregator)
    )
    clocks = [] if clock is None else [clock]
    merged = partials.groupBy(*clocks, *groups).agg(*how.states(partials)).drop(*clocks)
    if window is not None:
        by = ("window", *by)
        if not zoned:
            merged = merged.withColumn("window", _without_zone(merged))
            # Spark recognizes windows by this metadata, which the aliases above lose over Connect.
            merged = merged.withMetadata("window", {"spark.timeWindow": True})
    return how.finished(merged, by)


def check_result(
    df: DataFrame, keys: Sequence[str], aggregator: Aggregator, *, windowed: bool
) -> None:
    """Check that no two columns of the result have the same name.

    Parameters
    ----------
    df
        DataFrame whose session determines whether names that differ in case are different.
    keys
        Names of the key columns.
    aggregator
        Bound aggregator, which knows the columns of its result.
    windowed
        Whether the result has windows.

    Raises
    ------
    ConfigurationError
        Two columns have the same name.
    """
    own = [*(("window",) if windowed else ()), *aggregator.result.names]
    if aggregator.scope == "key":
        check_names(df, keys, own, aggregator)
        own = ["key", *own]
    for number, name in enumerate(own):
        if any(same_name(df, name, other) for other in own[:number]):
            message = f"{aggregator}: two columns of the result are named {name!r}; rename one"
            if same_name(df, name, "key"):
                message = (
                    f"{aggregator}: a result is named {name!r}, which is the key's name during the "
                    "computation; choose another name, and rename the column afterwards"
                )
            raise ConfigurationError(message)


def check_names(
    df: DataFrame, keys: Sequence[str], own: Sequence[str], aggregator: Aggregator
) -> None:
    """Check that no key column has the name of a column that the aggregator adds to the result.

    Raises
    ------
    ConfigurationError
        A key column has the name of a column that the aggregator adds.
    """
    for key in keys:
        for name in own:
            if same_name(df, key, name):
                fix = f"rename yours: df.withColumnRenamed({key!r}, {f'{key}_key'!r})"
                if aggregator.name == "several":
                    fix = "give the result another name"
                message = (
                    f"key = {key!r}: the result of {aggregator} has a column {name!r} of its own; "
                    f"{fix}"
                )
                raise ConfigurationError(message)


def with_keys(merged: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Replace the column ``key`` by the user's key columns, at the same position."""
    columns: list[Column] = []
    for name in merged.columns:
        if name != "key":
            columns.append(quoted(name))
        elif len(keys) == 1:
            columns.append(F.col("key").alias(keys[0]))
        else:
            columns += [F.col("key").getField(each).alias(each) for each in keys]
    return merged.select(*columns)


class _Merging(Protocol):
    """A way to merge the states of a key."""

    def states(self, partials: DataFrame) -> list[Column]:
        """Return the aggregates that Spark computes for each key."""

    def finished(self, merged: DataFrame, by: Sequence[str]) -> DataFrame:
        """Compute the results of each key from these aggregates."""


@dataclass(frozen=True)
class _InPython:
    """Collects the states of a key, and merges them in Python."""

    aggregator: Aggregator

    def states(self, partials: DataFrame) -> list[Column]:
        names = self.aggregator.state.names
        collected = F.collect_list(F.struct(*names))
        # Spark cannot sort maps.
        kinds = StructType([partials.schema[name] for name in names])
        if not partials.isStreaming and "map<" not in kinds.simpleString():
            collected = F.sort_array(collected)
        return [collected.alias(STATES)]

    def finished(self, merged: DataFrame, by: Sequence[str]) -> DataFrame:
        return _in_tasks(merged, MergeTask(self.aggregator, tuple(by)), self.aggregator, by)


@dataclass(frozen=True)
class _ByExpressions:
    """Merges each state column with an aggregate function of Spark."""

    aggregator: Algebraic

    def states(self, partials: DataFrame) -> list[Column]:
        types = {field.name: field.dataType for field in partials.schema}
        states = []
        for name, how in self.aggregator.merges.items():
            if how == "exact":
                summed = F.try_sum(name).try_cast(types[name])  # no error in ANSI mode
                state = F.when(~F.bool_or(F.col(name).isNull()), summed)
            else:
                functions = {"sum": F.sum, "min": F.min, "max": F.max}
                state = functions[how](name).cast(types[name])
            states.append(state.alias(name))
        return states

    def finished(self, merged: DataFrame, by: Sequence[str]) -> DataFrame:
        casts = self.aggregator.casts
        counted = self._overflows_counted(merged)
        if casts is None:
            return _in_tasks(counted, FinishTask(self.aggregator, tuple(by)), self.aggregator, by)
        columns = []
        for field in self.aggregator.result:
            state, values = casts[field.name]
            column = F.col(state)
            if self.aggregator.merges[state] == "exact":
                column = column.try_cast(from_arrow_type(field.type))
            if values is not None:
                column = F.when(F.col(values) > 0, column)
            columns.append(column.alias(field.name))
        return counted.select(*by, *columns)

    def _overflows_counted(self, merged: DataFrame) -> DataFrame:
        """Count, in each epoch of a stream, the groups with a sum that does not fit its type.

        The counts are among the ``observedMetrics`` of the query's progress, under names that begin
        with `OVERFLOWS`.
        """
        casts = self.aggregator.casts or {}
        result, state = self.aggregator.result, self.aggregator.state
        narrowest = {cast.state: result.field(name) for name, cast in casts.items()}
        lost = []
        for name, how in self.aggregator.merges.items():
            if how == "exact":
                kind = from_arrow_type((narrowest.get(name) or state.field(name)).type)
                lost.append(F.col(name).try_cast(kind).isNull())
        if not lost or not merged.isStreaming:
            return merged
        every = F.count_if(F.greatest(*lost) if len(lost) > 1 else lost[0]).alias("overflows")
        return merged.observe(f"{OVERFLOWS}{uuid.uuid4()}", every)


def _in_tasks(
    merged: DataFrame, task: FinishTask | MergeTask, aggregator: Aggregator, by: Sequence[str]
) -> DataFrame:
    fields = [merged.schema[name] for name in by]
    schema = StructType([*fields, *from_arrow_schema(aggregator.result).fields])
    return merged.mapInArrow(in_workers(merged.sparkSession, task), schema)


def _without_zone(merged: DataFrame) -> Column:
    """Convert the bounds of the windows from UTC to timestamps without a time zone."""
    bounds = []
    for end in ("start", "end"):
        seconds = F.unix_micros(f"window.{end}").cast("decimal(20)") / F.lit(1_000_000)
        bound = F.expr("TIMESTAMP_NTZ '1970-01-01'") + F.make_dt_interval(secs=seconds)
        bounds.append(bound.alias(end))
    windows = F.struct(*bounds)
    if merged.schema["window"].nullable:
        windows = F.when(F.col("window").isNotNull(), windows)
    return windows
