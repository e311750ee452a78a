"""evenkey's aggregators in a groupBy: parts of keys on balanced workers, merged by key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.errors import ConfigurationError
from evenkey.spark.aggregating import aggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.aggregators import Aggregator
    from evenkey.spark.grouped.rows import Rows


def aggregated(rows: Rows, aggregator: Aggregator) -> DataFrame:
    """Aggregate by key as `aggregate` does, under the plan that the groupBy follows.

    Raises
    ------
    ConfigurationError
        The rows are a stream or have no key; there is a cost; or as `aggregate` does.
    """
    if rows.df.isStreaming:
        message = (
            f"agg: {aggregator}: a stream is aggregated in windows; call eks.aggregate(df, key, "
            "..., time=..., window=...)"
        )
        raise ConfigurationError(message)
    if not rows.keys.names:
        message = f"agg: {aggregator}: there is no key; name one, as in eks.groupBy(df, 'customer')"
        raise ConfigurationError(message)
    if rows.cost is not None:
        message = f"agg: {aggregator}: its rows cost the same; leave cost out"
        raise ConfigurationError(message)
    grouping = "kg" if rows.wanted == "spark" else rows.grouping
    names, state = rows.keys.names, rows.state
    found = aggregate(rows.keys.frame, names, grouping, rows.workers, aggregator, state=state)
    shown = dict(zip(names, rows.keys.shown, strict=True))
    return found.toDF(*(shown.get(name, name) for name in found.columns))
