"""Typed columns of files: check that they can be read as messages, and find their types."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.splits.columns import check_there
from evenkey.core.streams.splits.times import times_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from evenkey.core.streams.splits import Columns

_OTHERS = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20),
    pa.float16(): pa.float32(),
    pa.large_string(): pa.string(),
    pa.string_view(): pa.string(),
    pa.date64(): pa.date32(),
}
"""Arrow types that Spark does not have, and the types that Spark reads instead."""
_KNOWN = (
    pa.types.is_boolean,
    pa.types.is_date32,
    pa.types.is_decimal128,
    pa.types.is_floating,
    pa.types.is_integer,
    pa.types.is_string,
    pa.types.is_timestamp,
)
_MOST_DIGITS = 38
_MICROS = pa.timestamp("us", "UTC")


def check_columns(
    path: str | Path, schema: pa.Schema, columns: Columns, values: Sequence[str]
) -> None:
    """Check that a file has the columns to read, with the right types.

    Raises
    ------
    ConfigurationError
        A column is missing, occurs twice or has a wrong type.
    """
    check_there(path, (*columns.names, *values), schema.names)
    for key in columns.key:
        kind = schema.field(key).type
        binary = pa.types.is_binary(kind) or pa.types.is_large_binary(kind)
        if binary or not _spelled_as_text(kind):
            message = (
                f"input {path}: key column {key!r} holds {kind}: choose a column of single values"
            )
            raise ConfigurationError(message)
    if columns.count is not None and not pa.types.is_integer(schema.field(columns.count).type):
        message = (
            f"input {path}: count column {columns.count!r} does not hold whole numbers: choose a "
            "column that does"
        )
        raise ConfigurationError(message)
    if columns.time is not None and not _of_times(schema.field(columns.time).type):
        kind = schema.field(columns.time).type
        message = (
            f"input {path}: time column {columns.time!r} holds {kind}: choose a column of "
            "timestamps, dates, numbers or text"
        )
        raise ConfigurationError(message)
    for value in values:
        if pa.types.is_nested(schema.field(value).type):
            message = (
                f"input {path}: column {value!r} holds {schema.field(value).type}: choose a column "
                "of single values"
            )
            raise ConfigurationError(message)


def _of_times(kind: pa.DataType) -> bool:
    try:
        times_of(pa.array([], kind), "")
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def _spelled_as_text(kind: pa.DataType) -> bool:
    try:
        pa.array([], kind).cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
        return False
    return True


def key_text(values: pa.Array) -> pa.StringArray:
    """Convert keys to text. Equal keys get equal texts: times are in UTC, and zero has no sign."""
    kind = values.type
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        values = values.cast(_MICROS, safe=False)
    elif pa.types.is_floating(kind) and kind != pa.float16():
        values = pc.add(values, pa.scalar(0.0, kind))
    return values.cast(pa.string())


def key_type(schemas: Sequence[pa.Schema], name: str) -> pa.DataType:
    """Return the type of a key in results; string if Spark lacks the type or the files differ."""
    kinds = {_of_spark(schema.field(name).type) for schema in schemas}
    kind = kinds.pop()
    return pa.string() if kinds or kind is None else kind


def value_type(paths: Sequence[str | Path], schemas: Sequence[pa.Schema], name: str) -> pa.DataType:
    """Return the type with which a column is read from all files.

    Raises
    ------
    ConfigurationError
        Spark has no type for the column, or the types in the files have no common type.
    """
    kinds = [schema.field(name).type for schema in schemas]
    fields = [pa.schema([(name, _of_spark(kind) or pa.null())]) for kind in kinds]
    try:
        kind = pa.unify_schemas(fields, promote_options="permissive").field(name).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        kind = pa.null()
    if pa.types.is_null(kind):
        has = ", ".join(dict.fromkeys(map(str, kinds)))
        message = f"input {', '.join(map(str, paths))}: column {name!r} holds {has}: cast it first"
        raise ConfigurationError(message)
    return kind


def _of_spark(kind: pa.DataType) -> pa.DataType | None:
    """Return the type with which Spark reads values of an Arrow type; None if there is none."""
    if pa.types.is_dictionary(kind):
        return _of_spark(kind.value_type)
    found = _OTHERS.get(kind, kind)
    if pa.types.is_timestamp(kind):
        found = pa.timestamp("us", None if kind.tz is None else "UTC")
    elif pa.types.is_decimal(kind) and kind.precision <= _MOST_DIGITS:
        found = pa.decimal128(kind.precision, kind.scale)
    known = any(is_known(found) for is_known in _KNOWN)
    return found if known else None
