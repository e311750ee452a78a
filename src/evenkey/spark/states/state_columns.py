"""Check the columns that `stateful` is called with."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    MapType,
    StructField,
    StructType,
    TimestampType,
    VariantType,
)

from evenkey.core.checking import columns_listed, shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys import find_columns
from evenkey.spark.keys.given_columns import check_own_names, check_types, has_collation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame


def key_names(df: DataFrame, key: str | Sequence[str]) -> list[str]:
    """Return the names of the key columns, as the DataFrame spells them.

    Raises
    ------
    ConfigurationError
        A column is missing, cannot be a key, or has the name of another column.
    """
    keys = find_columns(df, key)
    check_own_names(df)
    lower = [name.lower() for name in df.columns]
    for name in df.columns:
        if lower.count(name.lower()) > 1:
            message = f"there are several columns {name!r}: rename one of them"
            raise ConfigurationError(message)
    nested = (ArrayType, MapType, StructType, VariantType)
    check_types(df, keys, nested, "arrays, maps and structs cannot be keys of states")
    for name in keys:
        if has_collation(df.schema[name].dataType):
            message = (
                f"key = {name!r} has a collation, under which different texts are equal: convert "
                "it first by collate(column, 'UTF8_BINARY')"
            )
            raise ConfigurationError(message)
    return keys


def check_columns(keys: Sequence[str], columns: StructType, timer: str | None) -> None:
    """Check the columns of the state, and that `timer` is one of them.

    Raises
    ------
    ConfigurationError
        There is no column, a name is taken, or `timer` is not a timestamp column of the state.
    """
    lower = [name.lower() for name in (*keys, *columns.names)]
    for name in columns.names:
        if name.lower().startswith("__evenkey_") or lower.count(name.lower()) > 1:
            message = (
                f"state_schema: column {name!r} has the name of another column of the state, of a "
                "key column, or of evenkey's own columns; rename it"
            )
            raise ConfigurationError(message)
    if not columns.names:
        message = "state_schema has no columns: name at least one, such as 'n bigint'"
        raise ConfigurationError(message)
    if timer is None:
        return
    if timer not in columns.names:
        message = (
            f"timer = {shown(timer)}: state_schema has no such column; it has "
            f"{columns_listed(columns.names)}"
        )
        raise ConfigurationError(message)
    if not isinstance(columns[timer].dataType, TimestampType):
        message = (
            f"timer = {timer!r} is of type {columns[timer].dataType.simpleString()}: it must be a "
            "timestamp"
        )
        raise ConfigurationError(message)


def check_kept(state: object, *, streaming: bool) -> None:
    """Check that there is a location for the states of a stream, and none for those of a batch.

    Raises
    ------
    ConfigurationError
        It is missing, or not needed.
    """
    if streaming and state is None:
        message = (
            "state = None: a stream needs the location of its states; pass state=DIRECTORY, or a "
            "URI such as s3a://bucket/state"
        )
        raise ConfigurationError(message)
    if not streaming and state is not None:
        message = (
            f"state = {shown(state)}: the states of a batch are not kept, except in foreachBatch "
            "of a classic session; leave out state, or pass a stream"
        )
        raise ConfigurationError(message)


def nullable(schema: StructType) -> StructType:
    """Return a schema whose columns may all be null."""
    return StructType([StructField(each.name, each.dataType) for each in schema])


def types_of(schema: StructType) -> tuple[tuple[str, str], ...]:
    """Return the name and Spark's type of each column."""
    return tuple((field.name, field.dataType.simpleString()) for field in schema)
