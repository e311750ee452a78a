"""The two sides of a join: checks that they fit each other, and the schema of the result."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

from pyspark.sql.types import (
    ArrayType,
    BinaryType,
    DoubleType,
    FloatType,
    MapType,
    StructField,
    StructType,
    VariantType,
)

from evenkey.core.checking import check_one_of
from evenkey.core.errors import ConfigurationError
from evenkey.joins.matching.on import Keys, SpatialMatch
from evenkey.joins.matching.partition_join import RESERVED
from evenkey.joins.sides.writing import kept_columns
from evenkey.spark.keys import (
    check_frame,
    differ_in_char,
    find_columns,
    key_columns,
    same_name,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import DataFrame

    from evenkey.joins.static.manifest import Manifest

_NO_KEYS = (ArrayType, DoubleType, FloatType, MapType, StructType, VariantType)


def aligned(
    stream: DataFrame, static: DataFrame, on: Keys | SpatialMatch
) -> tuple[DataFrame, DataFrame, Keys | SpatialMatch]:
    """Rename the join columns of the static side, so that both sides have the stream's spelling.

    Names are resolved as in Spark: ``User`` finds ``user`` unless ``spark.sql.caseSensitive`` is
    true.

    Raises
    ------
    ConfigurationError
        A side is not a DataFrame, or a column is missing.
    """
    check_frame(stream, "stream")
    check_frame(static, "static")
    if isinstance(on, Keys):
        names = find_columns(stream, on.columns, "on")
        return stream, renamed(static, on.columns, names), Keys(tuple(names))
    (geometry,) = find_columns(stream, on.geometry, "geometry")
    static = renamed(static, [on.geometry], [geometry])
    relation = on.relation_column
    if relation is not None:
        (relation,) = find_columns(static, relation, "relation_column")
    return stream, static, dataclasses.replace(on, geometry=geometry, relation_column=relation)


def renamed(df: DataFrame, names: Sequence[str], wanted: Sequence[str]) -> DataFrame:
    """Rename columns from `names` to `wanted`; `names` are resolved as in Spark.

    Raises
    ------
    ConfigurationError
        A column is missing.
    """
    new = dict(zip(find_columns(df, names, "on"), wanted, strict=True))
    if all(name == other for name, other in new.items()):
        return df
    return df.toDF(*(new.get(name, name) for name in df.columns))


def check_sides(stream: DataFrame, static: DataFrame, on: Keys | SpatialMatch, how: str) -> None:
    """Check that two sides can be joined.

    Raises
    ------
    ConfigurationError
        A column is missing, of a wrong type, or on both sides without being joined on; or
        `how` is not possible.
    """
    if static.isStreaming:
        message = "static is a stream: pass a batch DataFrame, and call refresh if it changes"
        raise ConfigurationError(message)
    if isinstance(on, Keys):
        _check_keys(stream, static, on)
        joined: set[str | None] = set(on.columns)
    else:
        _check_geometry(stream, on)
        _check_geometry(static, on)
        if on.relation_column is not None:
            key_columns(static, on.relation_column)
        joined = {on.geometry, on.relation_column}
    check_one_of("how", how, ("inner", "left"))
    if how == "left" and isinstance(on, SpatialMatch):
        message = "how = 'left': a join by space is 'inner' only"
        raise ConfigurationError(message)
    for name in {*stream.columns, *static.columns}:
        if name.startswith(RESERVED):
            message = f"column {name!r}: names that begin with {RESERVED} are taken; rename it"
            raise ConfigurationError(message)
    left = set(stream.columns) - joined
    right = set(static.columns) - joined
    both = sorted(name for name in right if any(same_name(stream, name, each) for each in left))
    if both:
        message = (
            f"columns {', '.join(both)} are on both sides and not joined on: rename or drop one"
        )
        raise ConfigurationError(message)


def _check_keys(stream: DataFrame, static: DataFrame, on: Keys) -> None:
    key_columns(stream, on.columns)
    key_columns(static, on.columns)
    for name in on.columns:
        fields = stream.schema[name], static.schema[name]
        if differ_in_char(*fields):
            message = (
                f"key {name!r} has a CHAR type of another length in the stream than in the static "
                "side: apply rtrim to the key of both sides"
            )
            raise ConfigurationError(message)
        here, there = (field.dataType for field in fields)
        if here != there:
            message = (
                f"key {name!r} is {here.simpleString()} in the stream and {there.simpleString()} "
                "in the static side: cast one of them"
            )
            raise ConfigurationError(message)
        if isinstance(here, _NO_KEYS):
            message = (
                f"key {name!r} is {here.simpleString()}: floating-point numbers, arrays, maps, "
                "structs and variants cannot be keys; cast it to a string or a whole number"
            )
            raise ConfigurationError(message)


def _check_geometry(df: DataFrame, on: SpatialMatch) -> None:
    key_columns(df, on.geometry)
    kind = df.schema[on.geometry].dataType
    if not isinstance(kind, BinaryType):
        message = (
            f"column {on.geometry!r} is {kind.simpleString()}: geometries must be well-known "
            "binary (WKB)"
        )
        raise ConfigurationError(message)


def check_store(
    manifest: Manifest, static: DataFrame, on: Keys | SpatialMatch, partitions: int
) -> None:
    """Check that stored static data belong to this join.

    Raises
    ------
    ConfigurationError
        The data belong to another join, or their number of partitions or their schema is different.
    """
    known = {name: manifest.partitioning.get(name) for name in on.to_json()}
    differences = [
        f"{name} was {known[name]!r} and is now {value!r}"
        for name, value in on.to_json().items()
        if known[name] != value
    ]
    if manifest.partitions != partitions:
        differences.append(f"partitions were {manifest.partitions} and are now {partitions}")
    before, now = manifest.columns, kept_columns(static, on)
    if list(before.items()) != list(now.items()):
        differences.append(f"columns were {_listed(before)} and are now {_listed(now)}")
    if differences:
        message = (
            f"state holds static data of another join ({'; '.join(differences)}): choose "
            "another state, or use the previous options"
        )
        raise ConfigurationError(message)


def _listed(columns: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def stream_columns(stream: DataFrame, on: Keys | SpatialMatch) -> tuple[str, ...]:
    """Return the stream's columns that the result keeps, without key columns."""
    if isinstance(on, Keys):
        return tuple(name for name in stream.columns if name not in on.columns)
    return tuple(name for name in stream.columns if on.keep_geometry or name != on.geometry)


def result_schema(stream: DataFrame, static: DataFrame, on: Keys | SpatialMatch) -> StructType:
    """Return the schema of joined rows; static columns are nullable, for later refreshes."""
    keys = on.columns if isinstance(on, Keys) else ()
    left = [stream.schema[name] for name in (*keys, *stream_columns(stream, on))]
    dropped = {*keys} if isinstance(on, Keys) else {on.geometry, on.relation_column}
    right = [
        StructField(each.name, each.dataType) for each in static.schema if each.name not in dropped
    ]
    return StructType(left + right)
