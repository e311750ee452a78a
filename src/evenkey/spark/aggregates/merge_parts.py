"""Merge the workers' aggregates by key: the second step of an aggregation in real time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F

from evenkey.core.checking import check_text, check_workers
from evenkey.core.errors import ConfigurationError
from evenkey.spark.aggregates.by_name import COUNT, parsed_aggregates
from evenkey.spark.keys.given_columns import (
    check_frame,
    column_names,
    find_columns,
    key_columns,
    quoted,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

_START = "__evenkey_start"


def merge_workers(
    df: DataFrame,
    key: str | Sequence[str],
    workers: int,
    aggregates: Mapping[str, str] = COUNT,
    *,
    order: str,
    window: bool = False,
    watermark: str | None = None,
) -> DataFrame:
    """Merge the rows of `aggregate_by_worker` to one row per key.

    Of each window, key and worker, only the last row counts. So rows that come twice, or again
    after a restart, change nothing. Spark runs this as one aggregation. Use the function on a
    batch, such as the current content of a topic. Or use it on a stream, in a second query in
    update mode, also in real time.

    Parameters
    ----------
    df
        Batch or streaming, with the columns of the result of `aggregate_by_worker`, and `order`.
    key
        Key column, or columns that form the key together, as in the first query.
    workers
        Number of workers of the first query.
    aggregates
        The aggregates of the first query, by the names of their columns: ``"count"``,
        ``"count(column)"``, ``"sum(column)"``, ``"min(column)"`` or ``"max(column)"``. By default
        there is one column ``count``, as by default in the first query.
    order
        Column whose value increases with each row of a window, key and worker. Kafka's offset is
        such a column if the keys of the Kafka records consist of window, key and worker.
    window
        Whether `df` has a column ``window``, that is, `aggregate_by_worker` had windows.
    watermark
        For a stream with windows: the state of a window is dropped when the start of the window is
        further than this behind the latest start. None: state is kept permanently.

    Returns
    -------
    DataFrame
        ``window`` if there are windows, the key's columns, and one column per aggregate. The values
        equal the results of Spark's own ``groupBy`` on the original rows; sums of whole numbers are
        decimal(38, 0).

    Raises
    ------
    ConfigurationError
        A column is missing, or an aggregate is unknown. A row whose worker is null or out of range
        fails the job when it runs.

    Examples
    --------
    >>> rows = [("ann", 0, 1, 10), ("ann", 1, 4, 11), ("ann", 0, 3, 12)]
    >>> held = spark.createDataFrame(rows, "user string, worker int, count long, offset long")
    >>> merge_workers(held, "user", 4, order="offset").collect()
    [Row(user='ann', count=7)]
    """
    check_frame(df)
    check_workers(workers)
    wanted = parsed_aggregates(aggregates)
    keys = find_columns(df, column_names(key))
    by = [*(find_columns(df, "window", "window") if window else []), *keys]
    (worker,), (last,) = key_columns(df, "worker", "worker"), key_columns(df, order, "order")
    columns = key_columns(df, [each.name for each in wanted], "aggregates")
    kinds = [field.dataType for field in df.select(*columns).schema]
    groups = [quoted(name) for name in by]
    if watermark is not None:
        if not window:
            message = (
                f"watermark = {watermark!r}: it applies only to windows; pass window=True if df "
                "has the column window, or leave out watermark"
            )
            raise ConfigurationError(message)
        check_text("watermark", watermark, "10 minutes")
        started = df.withColumn(_START, quoted(by[0]).getField("start"))
        df, groups = started.withWatermark(_START, watermark), [F.col(_START), *groups]
    checked = F.when(worker.between(0, workers - 1), worker).otherwise(
        F.raise_error(F.lit(f"worker must be 0 to {workers - 1} in every row: pass more workers"))
    )
    row = F.struct(*(column.alias(f"v{i}") for i, column in enumerate(columns)))
    lasts = [F.max_by(row, F.when(checked == w, last)).alias(f"w{w}") for w in range(workers)]
    merged = df.groupBy(*groups).agg(*lasts)
    results = [
        _merged(
            [F.col(f"w{w}.v{number}") for w in range(workers)], each.function, kinds[number]
        ).alias(each.name)
        for number, each in enumerate(wanted)
    ]
    return merged.select(*map(quoted, by), *results)


def _merged(parts: list[Column], function: str, kind: DataType) -> Column:
    """Merge the workers' parts of a key; the part of a worker without the key is null."""
    if len(parts) == 1:
        return parts[0]
    if function in ("min", "max"):
        return {"min": F.least, "max": F.greatest}[function](*parts)
    there = F.filter(F.array(*parts), lambda part: part.isNotNull())
    others = F.slice(there, 2, len(parts))
    # Spark gives a sum of decimals a wider type, so cast it back.
    return F.aggregate(
        others, F.get(there, F.lit(0)), lambda total, part: (total + part).cast(kind)
    )
