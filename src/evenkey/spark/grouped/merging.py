"""Work on parts of keys: on each part, and then on all that came of a key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql.types import StringType, StructField, StructType

from evenkey.checking import shown
from evenkey.errors import ConfigurationError
from evenkey.spark.columns import quoted
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
    Merging = Function | list[Any]


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


def merging(merge: Any, schema: Schema | None) -> Merging:
    """Read how parts of keys are merged: by a function, or by Spark's aggregates.

    Raises
    ------
    ConfigurationError
        It is neither; or a schema is given for aggregates.
    """
    listed = list(merge) if isinstance(merge, list | tuple) else [merge]
    by_name = isinstance(merge, dict) and merge
    if by_name or (listed and all(isinstance(each, Column) for each in listed)):
        if schema is not None:
            message = (
                f"merge_schema = {shown(schema)}: Spark's aggregates have types of their own; "
                "leave it out"
            )
            raise ConfigurationError(message)
        return listed
    if callable(merge):
        function: Function = merge
        return function
    message = (
        f"merge = {shown(merge)}: must be a function of 1 or 2 arguments, or Spark's aggregates of "
        "what func gives; pass merge=F.sum('total').alias('total'), a list of such, or a dict as "
        "agg takes"
    )
    raise ConfigurationError(message)


def merged(
    results: DataFrame,
    keys: Keys,
    texts: KeyTexts,
    merge: Merging,
    schema: Schema,
) -> DataFrame:
    """Merge what came of each key's parts.

    Parameters
    ----------
    results
        As `of_parts` gives them.
    keys, texts
        The key.
    merge
        The function on the results of a key; or aggregates of their columns, which Spark combines
        before its shuffle.
    schema
        Of what the function gives.
    """
    if not isinstance(merge, list):
        call = _wrapped(merge, tuple(texts.keys), len(keys.names), arrow=False)
        return results.groupBy(*texts.keys).applyInPandas(call, schema)
    named = [quoted(own).alias(name) for own, name in zip(texts.keys, keys.shown, strict=True)]
    # Analyzed without the key's own columns first, so that no error of Spark's lists these.
    _ = results.drop(*texts.keys).agg(*merge).schema
    return results.groupBy(*named).agg(*merge)


def of_parts(
    parts: Callable[[Keys], tuple[GroupedData, Sequence[str]]],
    keys: Keys,
    texts: KeyTexts,
    partial: Function,
    schema: Schema,
) -> DataFrame:
    """Call a function on each part of a key; its results bear the key behind their own columns.

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
    """
    spelled = texts.added_to(keys.frame)
    grouped, own = parts(replace(keys, frame=spelled))
    takes_key = arguments_of(partial, (1, 2)) > 1
    pieces = takes_pieces(partial, arrow=False)
    wrap = calls.on_part_pieces if pieces else calls.on_part
    spell = calls.speller(texts.columns, texts.positions)
    call = wrap(partial, (*own, *texts.columns), len(keys.names), spell, takes_key=takes_key)
    fields = [StructField(name, StringType()) for name in texts.names]
    bearing = StructType([*_read(keys.frame.sparkSession, schema).fields, *fields])
    results = grouped.applyInPandas(labelled(call, partial, pieces=pieces, arrow=False), bearing)
    return results.withColumns(texts.keys).drop(*texts.names)


def _read(session: SparkSession, schema: Schema) -> StructType:
    if isinstance(schema, StructType):
        return schema
    return session.createDataFrame([], schema).schema
