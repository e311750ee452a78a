"""Call a function on parts of keys, and merge the results of each key."""

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
from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, GroupedData, SparkSession

    from evenkey.spark.groups.texts import KeyTexts

    Function = Callable[..., Any]
    Schema = StructType | str
    Merging = Function | list[Any]

_LARGE = "spark.sql.execution.arrow.useLargeVarTypes"


def wrapped(function: Function, keys: Keys, own: Sequence[str], *, arrow: bool) -> Function:
    """Wrap a user's function so that it gets groups without the columns that evenkey added.

    Parameters
    ----------
    function
        The user's function.
    keys
        Keys, as `Keys.for_python` returns them.
    own
        Names of columns that evenkey added.
    arrow
        Whether the function takes Arrow tables or batches; otherwise pandas DataFrames.

    Raises
    ------
    ConfigurationError
        `function` is not a function, or takes a wrong number of arguments.
    """
    show = calls.shower(tuple(own), keys.user_names, arrow=arrow)
    takes_key = arguments_of(function, (1, 2)) > 1
    pieces = takes_pieces(function, arrow=arrow)
    wrap = calls.on_pieces if pieces else calls.on_group
    sent = in_workers(keys.frame.sparkSession, function)
    call = wrap(sent, show, len(keys.names), takes_key=takes_key)
    return labelled(call, function, pieces=pieces, arrow=arrow)


def merging(merge: Any, schema: Schema | None) -> Merging:
    """Parse the option `merge`: return a function, or a list of Spark's aggregates.

    Raises
    ------
    ConfigurationError
        `merge` is neither a function nor aggregates, or a schema is given for aggregates.
    """
    listed = list(merge) if isinstance(merge, list | tuple) else [merge]
    by_name = isinstance(merge, dict) and merge
    if by_name or (listed and all(isinstance(each, Column) for each in listed)):
        if schema is not None:
            message = (
                f"merge_schema = {shown(schema)}: Spark's aggregates have their own types; "
                "leave it out"
            )
            raise ConfigurationError(message)
        return listed
    if callable(merge):
        function: Function = merge
        return function
    message = (
        f"merge = {shown(merge)}: must be a function of 1 or 2 arguments, or Spark's aggregates of "
        "the columns that func returns; pass merge=F.sum('total').alias('total'), a list of "
        "these, or a dict as for agg"
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
    """Merge the results of each key's parts.

    Parameters
    ----------
    results
        Results of `of_parts`.
    keys, texts
        Keys, and their texts.
    merge
        Function on the results of a key. Or Spark's aggregates of the results' columns; for
        aggregates, Spark combines rows before its shuffle.
    schema
        Schema of the rows that the function returns.
    arrow
        Whether the function takes Arrow tables or batches; otherwise pandas DataFrames.
    """
    if not isinstance(merge, list):
        own = tuple(texts.keys)
        given = Keys(results, own, own, keys.shown).for_python()
        call = wrapped(merge, given, given.own, arrow=arrow)
        return applied(given.frame.groupBy(*given.columns), call, schema, arrow=arrow)
    named = [quoted(own).alias(name) for own, name in zip(texts.keys, keys.shown, strict=True)]
    # First analyze the aggregates without the added key columns, so that Spark's errors do not name
    # these columns.
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
    """Call a function on each part of a key, and append columns with the key to the results.

    Parameters
    ----------
    parts
        Function that groups rows by key and part; it returns the groups, and the names of columns
        that evenkey added.
    keys
        Rows and their keys, as `Keys.for_python` returns them.
    texts
        Texts of the keys.
    partial, schema
        Function on parts, and the schema of the rows that it returns.
    arrow
        Whether the function takes Arrow tables or batches; otherwise pandas DataFrames.
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
    sent = in_workers(session, partial)
    call = wrap(sent, show, len(keys.names), spell, takes_key=takes_key)
    fields = [StructField(name, StringType()) for name in texts.names]
    with_key = StructType([*_read(session, schema).fields, *fields])
    labelled_call = labelled(call, partial, pieces=pieces, arrow=arrow)
    results = applied(grouped, labelled_call, with_key, arrow=arrow)
    return results.withColumns(texts.keys).drop(*texts.names)


def applied(grouped: GroupedData, call: Function, schema: Schema, *, arrow: bool) -> DataFrame:
    """Call a function on groups, with Spark's ``applyInPandas`` or ``applyInArrow``."""
    return (grouped.applyInArrow if arrow else grouped.applyInPandas)(call, schema)


def _read(session: SparkSession, schema: Schema) -> StructType:
    if isinstance(schema, StructType):
        return schema
    return session.createDataFrame([], schema).schema
