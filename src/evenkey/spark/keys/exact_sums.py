"""Exact sums by Spark's own expressions; a sum that does not fit its type is null and counted."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.spark.sessions.versions import from_arrow_type

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from evenkey.aggregators import Algebraic, Cast, Merge

OVERFLOWS = "evenkey-overflows-"
"""Beginning of the names of metrics that count results which do not fit their type."""


def merged_natively(how: Merge, name: str, kind: DataType) -> Column:
    """Merge a state column as `Algebraic.merges` says; ``exact`` raises no error in ANSI mode."""
    if how != "exact":
        return {"sum": F.sum, "min": F.min, "max": F.max}[how](name).cast(kind)
    summed = F.try_sum(name).try_cast(kind)
    return F.when(~F.bool_or(F.col(name).isNull()), summed)


def finished_natively(aggregator: Algebraic, casts: Mapping[str, Cast]) -> list[Column]:
    """Cast merged states to result columns; an exact sum is null if it is empty or too large."""
    columns = []
    for field in aggregator.result:
        state, values = casts[field.name]
        column = F.col(state)
        if aggregator.merges[state] == "exact":
            column = column.try_cast(from_arrow_type(field.type))
        if values is not None:
            column = F.when(F.col(values) > 0, column)
        columns.append(column.alias(field.name))
    return columns


def count_overflows(merged: DataFrame, aggregator: Algebraic) -> DataFrame:
    """Count, in each epoch of a stream, the groups with a sum that does not fit the sum's type.

    The counts are among the ``observedMetrics`` of the query's progress, under names that begin
    with `OVERFLOWS`.
    """
    casts = aggregator.casts or {}
    narrowest = {cast.state: aggregator.result.field(name) for name, cast in casts.items()}
    lost = []
    for name, how in aggregator.merges.items():
        if how == "exact":
            field = narrowest.get(name) or aggregator.state.field(name)
            lost.append(F.col(name).try_cast(from_arrow_type(field.type)).isNull())
    if not lost or not merged.isStreaming:
        return merged
    every = F.count_if(F.greatest(*lost) if len(lost) > 1 else lost[0]).alias("overflows")
    return merged.observe(f"{OVERFLOWS}{uuid.uuid4()}", every)
