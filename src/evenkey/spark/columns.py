"""Checks of what operators are given."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import DateType, NumericType, TimestampNTZType, TimestampType

from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

__all__ = [
    "absent",
    "check_workers",
    "key_columns",
    "row_numbers",
    "time_column",
    "windowed_column",
]

_ROW_IN_PARTITION = (1 << 33) - 1
_TIMES = (DateType, NumericType, TimestampNTZType, TimestampType)


def row_numbers() -> Column:
    """Number the rows of each partition of a batch, from the partition's own number on.

    Partitions do not begin alike, so that what is dealt out by these numbers is dealt evenly.
    Spark does not number the rows of a stream.
    """
    row = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_IN_PARTITION))
    return row + F.spark_partition_id()


def key_columns(df: DataFrame, names: str | Sequence[str]) -> list[Column]:
    """Columns of a DataFrame by name, quoted, so that a name may hold any character.

    Raises
    ------
    ConfigurationError
        No name is given, or there is no such column; the message lists those there are.
    """
    names = [names] if isinstance(names, str) else list(names)
    if not names:
        message = "no key column is given: name at least one"
        raise ConfigurationError(message)
    for name in names:
        if name not in df.columns:
            message = f"there is no column {name!r}; there are: {', '.join(df.columns)}"
            raise ConfigurationError(message)
    return [F.col(f"`{name.replace('`', '``')}`") for name in names]


def time_column(df: DataFrame, name: str) -> Column:
    """A column of event times as timestamps; numbers count seconds since 1970.

    Raises
    ------
    ConfigurationError
        There is no such column, or it holds no times.
    """
    (column,) = key_columns(df, name)
    kind = df.schema[name].dataType
    if not isinstance(kind, _TIMES):
        message = (
            f"time: column {name!r} is of type {kind.simpleString()}; it must be a timestamp: "
            "convert it first, by to_timestamp for instance"
        )
        raise ConfigurationError(message)
    return column.cast("timestamp")


def windowed_column(df: DataFrame, name: str) -> Column:
    """A column of event times as windows are made of it: as it is where it has no time zone.

    Spark's windows of such times begin by their own midnight, whatever the session's zone.

    Raises
    ------
    ConfigurationError
        As `time_column` does.
    """
    column = time_column(df, name)
    without_zone = isinstance(df.schema[name].dataType, TimestampNTZType)
    return key_columns(df, name)[0] if without_zone else column


def absent(df: DataFrame, name: str) -> None:
    """Make sure that a column which is to be added is not there yet.

    Raises
    ------
    ConfigurationError
        There is a column of that name, or of one that Spark takes for the same.
    """
    exact = df.sparkSession.conf.get("spark.sql.caseSensitive") == "true"
    for column in df.columns:
        if column == name or (not exact and column.lower() == name.lower()):
            message = f"there is a column {column!r} already: drop it, or choose another name"
            raise ConfigurationError(message)


def check_workers(workers: int) -> None:
    """Make sure that there is a worker.

    Raises
    ------
    ConfigurationError
        There is none.
    """
    if workers < 1:
        message = f"workers = {workers}: there must be at least 1 worker"
        raise ConfigurationError(message)
