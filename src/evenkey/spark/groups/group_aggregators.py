"""Run evenkey's aggregators in a groupBy: balanced workers aggregate parts of keys."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.spark.aggregates.aggregation import aggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.spark.groups.rows import Rows


def aggregated(rows: Rows, asked: dict[str, Any]) -> DataFrame:
    """Aggregate by key as `aggregate` does, under the plan that the groupBy follows.

    Parameters
    ----------
    rows
        Rows of a batch, and their keys.
    asked
        Argument ``aggregator`` or ``aggregators`` of `aggregate`.

    Raises
    ------
    ConfigurationError
        The rows are a stream or have no key, there is a cost, or `aggregate` raises this error.
    """
    if rows.df.isStreaming:
        message = (
            "agg: evenkey aggregates a stream in windows; call eks.aggregate(df, key, "
            "..., time=..., window=...)"
        )
        raise ConfigurationError(message)
    if not rows.keys.names:
        message = "agg: evenkey aggregates by key; name one, as in eks.groupBy(df, 'customer')"
        raise ConfigurationError(message)
    if rows.cost is not None:
        message = "agg: evenkey's aggregators do not use a cost per row; leave out cost"
        raise ConfigurationError(message)
    grouping = "kg" if rows.wanted == "spark" else rows.grouping
    names, state = rows.keys.names, rows.state
    found = aggregate(rows.keys.frame, names, grouping, rows.workers, state=state, **asked)
    shown = dict(zip(names, rows.keys.shown, strict=True))
    return found.toDF(*(shown.get(name, name) for name in found.columns))
