"""Find the columns that users pass to operators, check their types, and hash them as keys."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from typing import TYPE_CHECKING

from pyspark.logger import PySparkLogger
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DataType,
    DateType,
    MapType,
    NumericType,
    StringType,
    StructType,
    TimestampNTZType,
    TimestampType,
    VariantType,
)

from evenkey.core.checking import check_text, columns_listed, shown
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    import logging
    from collections.abc import Iterator, Sequence

_ROW_IN_PARTITION = (1 << 33) - 1
OWN = "__evenkey_"
"""Beginning of the names of columns that evenkey adds."""
_LOGS_OF_ERRORS = ("DataFrameQueryContextLogger", "SQLQueryContextLogger")
"""PySpark's loggers of errors in the analysis of a query."""
_TIMES = (DateType, NumericType, TimestampNTZType, TimestampType)


def row_numbers() -> Column:
    """Number the rows of each partition of a batch, starting at the number of the partition.

    Because partitions start at different numbers, rows that are distributed by their numbers are
    balanced over workers. Spark does not number the rows of a stream.
    """
    row = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_IN_PARTITION))
    return row + F.spark_partition_id()


def check_frame(df: object, name: str = "df") -> None:
    """Check that an argument is a Spark DataFrame whose session is running.

    Raises
    ------
    ConfigurationError
        The argument is not a Spark DataFrame, or the session of the DataFrame was stopped.
    """
    if isinstance(df, DataFrame):
        _check_running(df, name)
        return
    kind = f"{type(df).__module__.split('.')[0]} {type(df).__name__}"
    fix = f"pass a Spark DataFrame; spark.createDataFrame(...) makes one from {kind}"
    if isinstance(df, str | int | float | type(None)):
        kind, fix = shown(df), "pass a Spark DataFrame, such as spark.read returns"
    message = f"{name} = {kind}: it is not a Spark DataFrame; {fix}"
    raise ConfigurationError(message)


def _check_running(df: DataFrame, name: str) -> None:
    context = getattr(df.sparkSession, "_sc", None)  # a session over Connect has none
    if context is None:
        stopped = bool(getattr(df.sparkSession, "is_stopped", False))
    else:
        stopped = getattr(context, "_jsc", None) is None
    if stopped:
        message = (
            f"{name}: the Spark session of this DataFrame was stopped; start one, and make the "
            "DataFrame in it"
        )
        raise ConfigurationError(message)


def is_case_sensitive(df: DataFrame) -> bool:
    """Return whether Spark distinguishes columns whose names differ only in case."""
    return str(df.sparkSession.conf.get("spark.sql.caseSensitive")).lower() == "true"


def same_name(df: DataFrame, name: str, other: str) -> bool:
    """Return whether Spark would find the same column by either of two names."""
    return name == other or (not is_case_sensitive(df) and name.lower() == other.lower())


def column_names(names: object, what: str = "key") -> tuple[str, ...]:
    """Convert one column name, or several in a list, to a tuple of names.

    Raises
    ------
    ConfigurationError
        There is no name, a name is repeated, or an element is not a name.
    """
    listed: list[object] = [names]
    # A Column has __iter__, which raises an error.
    if isinstance(names, Iterable) and not isinstance(names, str | Column):
        listed = list(names)
    for name in listed:
        if not isinstance(name, str):
            kind = "a Column" if isinstance(name, Column) else shown(name)
            message = (
                f"{what} = {kind}: pass columns by their names, as {what}='name'; add an "
                "expression as a column first: df.withColumn('name', ...)"
            )
            raise ConfigurationError(message)
    if not listed:
        message = f"{what} = []: no {what} column is given; name at least one"
        raise ConfigurationError(message)
    for name in listed:
        if listed.count(name) > 1:
            message = f"{what} = {shown(listed)}: column {name!r} is named twice; name it once"
            raise ConfigurationError(message)
    return tuple(map(str, listed))


def find_used(df: DataFrame, names: Sequence[str]) -> list[str]:
    """List the columns of a DataFrame that Spark would find by these names."""
    return [name for name in df.columns if any(same_name(df, name, each) for each in names)]


def find_columns(df: DataFrame, names: str | Sequence[str], what: str = "key") -> list[str]:
    """Return the names of columns as the DataFrame spells them.

    As in Spark, ``User`` finds ``user`` unless ``spark.sql.caseSensitive`` is true.

    Parameters
    ----------
    df
        DataFrame with the columns.
    names
        One name or several. A name may contain any character.
    what
        Name of the argument with these names, for messages.

    Raises
    ------
    ConfigurationError
        `column_names` raises this error. Or there is no column of a name, or more than one column.
        If there is no column, the message lists the columns of the DataFrame.
    """
    check_frame(df)
    wanted = column_names(names, what)
    exact = is_case_sensitive(df)
    found = []
    for name in wanted:
        there = [
            each
            for each in df.columns
            if each == name or (not exact and each.lower() == name.lower())
        ]
        if not there:
            has = columns_listed(df.columns)
            message = f"{what} = {name!r}: there is no column {name!r}; there are: {has}"
            raise ConfigurationError(message)
        if len(there) > 1:
            message = (
                f"{what} = {name!r}: there are {len(there)} columns of that name: "
                f"{', '.join(there)}; rename one of them"
            )
            raise ConfigurationError(message)
        found += there
    return found


@contextlib.contextmanager
def unlogged_errors() -> Iterator[None]:
    """Keep PySpark from logging analysis errors in code that only tests if a query is valid.

    Errors of other threads are logged.
    """

    def is_of_another_thread(record: logging.LogRecord) -> bool:
        return record.thread != thread

    thread = threading.get_ident()
    # Use PySpark's method: loggers that `logging` creates first do not accept PySpark's arguments.
    loggers = [PySparkLogger.getLogger(name) for name in _LOGS_OF_ERRORS]
    for logger in loggers:
        logger.addFilter(is_of_another_thread)
    try:
        yield
    finally:
        for logger in loggers:
            logger.removeFilter(is_of_another_thread)


def quoted(name: str) -> Column:
    """Return a column by its name, quoted, so that the name may contain any character."""
    return F.col(quoted_name(name))


def quoted_name(name: str) -> str:
    """Return the name of a column, quoted, so that it may contain any character."""
    return f"`{name.replace('`', '``')}`"


def key_columns(df: DataFrame, names: str | Sequence[str], what: str = "key") -> list[Column]:
    """Return columns of a DataFrame by their names, which `find_columns` looks up.

    Raises
    ------
    ConfigurationError
        As `find_columns` does.
    """
    return [quoted(name) for name in find_columns(df, names, what)]


def key_hash(df: DataFrame, key: str | Sequence[str]) -> Column:
    """Return the hash of the key that all groupings use: Spark's ``xxhash64``.

    Raises
    ------
    ConfigurationError
        `find_columns` raises this error, or a column contains maps, which have no hash.
    """
    columns = key_columns(df, key)
    check_types(df, key, (MapType, VariantType), "maps have no hash")
    return hash_of(columns)


def one_key(df: DataFrame, keys: Sequence[str]) -> Column:
    """Return the key as one column: the user's column, or a struct if there are several.

    In Spark, hashing or grouping by the struct gives the same result as by its fields in order.
    """
    found = key_columns(df, keys)
    if len(found) == 1:
        return found[0]
    return F.struct(*(column.alias(name) for name, column in zip(keys, found, strict=True)))


def hash_of(columns: Sequence[Column], *, nulls_apart: bool = False) -> Column:
    """Return the hash of a key of one or more columns: Spark's ``xxhash64``.

    A null key has a hash as any other key. Spark's hash skips nulls, so the keys (null, 1) and (1,
    null) have the same hash. That is right for routing: equal keys must go to the same worker, and
    different keys may share a worker. For counting keys by their hash, pass `nulls_apart`: such
    keys then have different hashes.
    """
    marks = [column.isNull() for column in columns] if nulls_apart else []
    return F.xxhash64(*columns, *marks)


def check_groupable(df: DataFrame, key: str | Sequence[str]) -> None:
    """Check that Arrow can group by the types of the key columns, as Spark can.

    Raises
    ------
    ConfigurationError
        The values of a key column are lists or maps, or contain lists or maps.
    """
    check_types(df, key, (ArrayType, MapType, VariantType), "lists and maps cannot be keys")


def check_types(
    df: DataFrame,
    keys: str | Sequence[str],
    refused: tuple[type[DataType], ...],
    why: str,
    what: str = "key",
) -> None:
    """Check that no key column is of a refused type, also not within arrays or structs.

    Raises
    ------
    ConfigurationError
        A key column is of a refused type, or contains such a type.
    """
    for name in find_columns(df, keys, what):
        if any(isinstance(part, refused) for part in parts_of_type(df.schema[name].dataType)):
            message = (
                f"{what} = {name!r} is of type {df.schema[name].dataType.simpleString()}: {why}; "
                "convert it to a string first, for example with to_json"
            )
            raise ConfigurationError(message)


def parts_of_type(kind: DataType) -> Iterator[DataType]:
    """Yield a type, and all types nested in it as elements of arrays or fields of structs."""
    parts = [kind]
    while parts:
        part = parts.pop()
        yield part
        if isinstance(part, ArrayType):
            parts.append(part.elementType)
        if isinstance(part, StructType):
            parts += [field.dataType for field in part]


def has_collation(kind: DataType) -> bool:
    """Return whether texts of a type can be equal although their bytes differ."""
    return isinstance(kind, StringType) and not kind.isUTF8BinaryCollation()


def number_column(df: DataFrame, name: str, what: str) -> Column:
    """Return a column of numbers by its name.

    Raises
    ------
    ConfigurationError
        There is no such column, or its type is not a number.
    """
    check_text(what, name, what)
    (found,) = find_columns(df, name, what)
    kind = df.schema[found].dataType
    if not isinstance(kind, NumericType):
        message = (
            f"{what}: column {name!r} is of type {kind.simpleString()}; it must hold numbers: "
            "cast it first"
        )
        raise ConfigurationError(message)
    return quoted(found)


def time_column(df: DataFrame, name: str) -> Column:
    """Return a column of event times as timestamps; numbers are seconds since 1970.

    Raises
    ------
    ConfigurationError
        There is no such column, or its type is not a time or a number.
    """
    check_text("time", name, "time")
    (found,) = find_columns(df, name, "time")
    kind = df.schema[found].dataType
    if not isinstance(kind, _TIMES):
        message = (
            f"time: column {name!r} is of type {kind.simpleString()}; it must be a timestamp: "
            "convert it first, by to_timestamp for instance"
        )
        raise ConfigurationError(message)
    return quoted(found).cast("timestamp")


def windowed_column(df: DataFrame, name: str) -> Column:
    """Return a column of event times for windows; times without a time zone are not converted.

    Spark aligns the windows of times without a time zone to midnight, whatever time zone the
    session has.

    Raises
    ------
    ConfigurationError
        As `time_column` does.
    """
    column = time_column(df, name)
    if has_zone(df, name):
        return column
    return quoted(*find_columns(df, name, "time"))


def has_zone(df: DataFrame, name: str) -> bool:
    """Return whether the timestamps of a column have a time zone.

    Raises
    ------
    ConfigurationError
        There is no such column.
    """
    (found,) = find_columns(df, name, "time")
    return not isinstance(df.schema[found].dataType, TimestampNTZType)


def absent(df: DataFrame, name: str) -> None:
    """Check that a DataFrame has no column with the name of a new column.

    Raises
    ------
    ConfigurationError
        There is a column of that name, or of a name that Spark does not distinguish from it.
    """
    check_frame(df)
    check_text("column", name, "worker")
    if not name:
        message = "column = '': the new column needs a name; pass column='worker', for instance"
        raise ConfigurationError(message)
    exact = is_case_sensitive(df)
    for column in df.columns:
        if column == name or (not exact and column.lower() == name.lower()):
            message = f"there is a column {column!r} already: drop it, or choose another name"
            raise ConfigurationError(message)


def check_own_names(df: DataFrame) -> None:
    """Check that no column name begins with `OWN`, as the names of evenkey's own columns do.

    Raises
    ------
    ConfigurationError
        The name of a column begins with `OWN`.
    """
    for name in df.columns:
        if name.lower().startswith(OWN):
            message = (
                f"there is a column {name!r}: names that begin with {OWN!r} are taken; rename it"
            )
            raise ConfigurationError(message)
