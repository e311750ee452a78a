"""Work on parts of keys: on each part, and then on all that came of a key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql.types import StringType, StructField, StructType

from evenkey.spark.grouped import calls
from evenkey.spark.grouped.exchange import SPLIT
from evenkey.spark.grouped.hints import arguments_of, labelled, takes_pieces

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, GroupedData, SparkSession

    from evenkey.spark.grouped.keys import Keys
    from evenkey.spark.grouped.texts import KeyTexts

    Function = Callable[..., Any]
    Schema = StructType | str


def wrapped(function: Function, keys: Keys, *, arrow: bool) -> Function:
    """Wrap a user's function on groups for groups by the key and `SPLIT`.

    Raises
    ------
    ConfigurationError
        It is no function, or takes another number of arguments.
    """
    return _wrapped(function, (*keys.own, SPLIT), len(keys.names), arrow=arrow)


def _wrapped(function: Function, own: Sequence[str], keys: int, *, arrow: bool) -> Function:
    takes_key = arguments_of(function, (1, 2)) > 1
    pieces = takes_pieces(function, arrow=arrow)
    wrap = calls.on_pieces if pieces else calls.on_group
    call = wrap(function, tuple(own), keys, takes_key=takes_key, arrow=arrow)
    return labelled(call, function, pieces=pieces, arrow=arrow)


def merged(
    parts: Callable[[Keys], tuple[GroupedData, Sequence[str]]],
    keys: Keys,
    texts: KeyTexts,
    partial: Function,
    schema: Schema,
    merge: Function,
    merge_schema: Schema,
) -> DataFrame:
    """Call a function on each part of a key, and another on the results of all parts of it.

    Parameters
    ----------
    parts
        Group the rows of a frame by key and part, and name the columns that are not the user's.
    keys
        With the rows.
    texts
        That spell the key.
    partial, schema
        The function on parts, and what it gives.
    merge, merge_schema
        The function on the results of a key, and what it gives.
    """
    spelled = texts.added_to(keys.frame)
    grouped, own = parts(replace(keys, frame=spelled))
    takes_key = arguments_of(partial, (1, 2)) > 1
    pieces = takes_pieces(partial, arrow=False)
    wrap = calls.on_part_pieces if pieces else calls.on_part
    call = wrap(partial, (*own, *texts.names), len(keys.names), texts.names, takes_key=takes_key)
    fields = [StructField(name, StringType()) for name in texts.names]
    of_parts = StructType([*_read(keys.frame.sparkSession, schema).fields, *fields])
    results = grouped.applyInPandas(labelled(call, partial, pieces=pieces, arrow=False), of_parts)
    by_key = results.withColumns(texts.keys).drop(*texts.names)
    call = _wrapped(merge, tuple(texts.keys), len(keys.names), arrow=False)
    return by_key.groupBy(*texts.keys).applyInPandas(call, merge_schema)


def _read(session: SparkSession, schema: Schema) -> StructType:
    if isinstance(schema, StructType):
        return schema
    return session.createDataFrame([], schema).schema
