"""Differences between the versions of PySpark that evenkey runs on.

Types: PySpark 4.2 renamed the argument for the time zone of timestamps. By default, PySpark 4.2
converts Arrow timestamps without a zone to ``timestamp_ntz``. Sources: see `check_sources`. Tasks
that run again: see `SAFE_RETRIES`.
"""

from __future__ import annotations

import inspect
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyspark
from pyspark.sql.pandas import types

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql.types import DataType, StructType

_CHECKSUM = "spark.sql.shuffle.orderIndependentChecksum"
SAFE_RETRIES = (f"{_CHECKSUM}.enabled", f"{_CHECKSUM}.enableFullRetryOnMismatch")
"""With these settings, Spark notices if a task that ran again returned other rows than before, and
then repeats all tasks that have read the earlier rows. Off by default in 4.1, on since 4.2."""
_SOURCES = "pyspark.sql.streaming.datasource"
_TAKES_ZONES = "timezone" in inspect.signature(types.to_arrow_schema).parameters


def to_arrow_schema(schema: StructType, timezone: str) -> pa.Schema:
    """Convert a Spark schema to an Arrow schema.

    Parameters
    ----------
    schema
        Spark schema.
    timezone
        Time zone of all timestamps, at any depth of nesting.

    Examples
    --------
    >>> from pyspark.sql.types import ArrayType, StructType, TimestampType
    >>> to_arrow_schema(StructType().add("times", ArrayType(TimestampType())), "Asia/Tokyo")
    times: list<element: timestamp[us, tz=Asia/Tokyo]>
      child 0, element: timestamp[us, tz=Asia/Tokyo]
    """
    convert: Any = types.to_arrow_schema
    if _TAKES_ZONES:
        return convert(schema, timezone=timezone)
    found: pa.Schema = convert(schema)
    return pa.schema([field.with_type(_zoned(field.type, timezone)) for field in found])


def from_arrow_schema(schema: pa.Schema) -> StructType:
    """Convert an Arrow schema to a Spark schema; timestamps without a zone are ``timestamp_ntz``.

    Examples
    --------
    >>> from_arrow_schema(pa.schema({"time": pa.timestamp("us")})).simpleString()
    'struct<time:timestamp_ntz>'
    """
    return types.from_arrow_schema(schema, prefer_timestamp_ntz=True)


def from_arrow_type(kind: pa.DataType) -> DataType:
    """Convert an Arrow type to a Spark type; a timestamp without a zone is ``timestamp_ntz``."""
    return types.from_arrow_type(kind, prefer_timestamp_ntz=True)


def check_sources() -> None:
    """Check that a Python data source can limit how much an epoch reads: needs PySpark 4.2.

    Version 4.2 added this in ``pyspark.sql.streaming.datasource``. Runs from a source to a sink
    need it; operators on DataFrames do not.

    Raises
    ------
    ConfigurationError
        PySpark is older than 4.2.
    """
    if find_spec(_SOURCES) is None:
        message = (
            f"PySpark is {pyspark.__version__}: runs from a source to a sink, such as "
            "`evenkey run`, need 4.2 or later; pip install 'pyspark>=4.2'"
        )
        raise ConfigurationError(message)


def _zoned(kind: pa.DataType, timezone: str) -> pa.DataType:
    """Replace the zone of each timestamp that has a zone, at any depth of nesting in a type."""
    if pa.types.is_timestamp(kind):
        return kind if kind.tz is None else pa.timestamp(kind.unit, tz=timezone)
    if pa.types.is_map(kind):
        return pa.map_(
            _zoned_field(kind.key_field, timezone), _zoned_field(kind.item_field, timezone)
        )
    if pa.types.is_list(kind):
        return pa.list_(_zoned_field(kind.value_field, timezone))
    if pa.types.is_large_list(kind):
        return pa.large_list(_zoned_field(kind.value_field, timezone))
    if pa.types.is_struct(kind):
        return pa.struct([_zoned_field(field, timezone) for field in kind])
    return kind


def _zoned_field(field: pa.Field, timezone: str) -> pa.Field:
    return field.with_type(_zoned(field.type, timezone))
