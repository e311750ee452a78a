"""Work on parts of keys: on each part, and then on all that came of a key."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pyspark.sql import Column
from pyspark.sql.types import StringType, StructField, StructType

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.groups import calls
from evenkey.spark.groups.group_keys import Keys
from evenkey.spark.groups.hints import arguments_of, labelled, takes_pieces
from evenkey.spark.keys.given_columns import quoted

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, GroupedData, SparkSession

    from evenkey.spark.groups.texts import KeyTexts

    Function = Callable[..., Any]
    Schema = StructType | str
    Merging = Function | list[Any]

_LARGE = "spark.sql.execution.arrow.useLargeVarTypes"


def wrapped(function: Function, keys: Keys, own: Sequence[str], *, arrow: bool) -> Function:
    """Wrap a user's function on groups by the key, and perhaps by one column of ours more.

    Parameters
    ----------
    function
        The user's.
    keys
        The key, as `Keys.for_python` gives it.
    own
        Columns that are not the user's.
    arrow
        Whether the function takes Arrow's tables or batches.

    Raises
    ------
    ConfigurationError
        It is no function, or takes another number of arguments.
    """
    show = calls.shower(tuple(own), keys.user_names, arrow=arrow)
    return _wrapped(function, show, len(keys.names), arrow=arrow)


def _wrapped(function: Function, show: Function, keys: int, *, arrow: bool) -> Function:
    takes_key = arguments_of(function, (1, 2)) > 1
    pieces = takes_pieces(function, arrow=arrow)
    wrap = calls.on_pieces if pieces else calls.on_group
    call = wrap(function, show, keys, takes_key=takes_key)
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
    *,
    arrow: bool,
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
    arrow
        Whether the function takes Arrow's tables or batches.
    """
    if not isinstance(merge, list):
        own = tuple(texts.keys)
        given = Keys(results, own, own, keys.shown).for_python()
        call = wrapped(merge, given, given.own, arrow=arrow)
        return applied(given.frame.groupBy(*given.columns), call, schema, arrow=arrow)
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
    *,
    arrow: bool,
) -> DataFrame:
    """Call a function on each part of a key; its results have the key behind their own columns.

    Parameters
    ----------
    parts
        Group the rows of a frame by key and part, and name the columns that are not the user's.
    keys
        With the rows, as `Keys.for_python` gives them.
    texts
        That spell the key.
    partial, schema
        The function on parts, and what it gives.
    arrow
        Whether it takes Arrow's tables or batches.
    """
    session = keys.frame.sparkSession
    spelled = texts.added_to(keys.frame)
    grouped, own = parts(replace(keys, frame=spelled))
    takes_key = arguments_of(partial, (1, 2)) > 1
    pieces = takes_pieces(partial, arrow=arrow)
    wrap = calls.on_part_pieces if pieces else calls.on_part
    show = calls.shower((*own, *texts.columns), keys.user_names, arrow=arrow)
    large = str(session.conf.get(_LARGE, "false")).lower() == "true"
    spell = calls.speller(texts.columns, texts.positions, arrow=arrow, large=large)
    call = wrap(partial, show, len(keys.names), spell, takes_key=takes_key)
    fields = [StructField(name, StringType()) for name in texts.names]
    with_key = StructType([*_read(session, schema).fields, *fields])
    labelled_call = labelled(call, partial, pieces=pieces, arrow=arrow)
    results = applied(grouped, labelled_call, with_key, arrow=arrow)
    return results.withColumns(texts.keys).drop(*texts.names)


def applied(grouped: GroupedData, call: Function, schema: Schema, *, arrow: bool) -> DataFrame:
    """Call a function on groups by Spark's ``applyInPandas`` or ``applyInArrow``."""
    return (grouped.applyInArrow if arrow else grouped.applyInPandas)(call, schema)


def _read(session: SparkSession, schema: Schema) -> StructType:
    if isinstance(schema, StructType):
        return schema
    return session.createDataFrame([], schema).schema
