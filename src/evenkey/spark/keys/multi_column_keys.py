"""Keys of results: several columns as one key, and names that do not meet."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, VariantType

from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys.given_columns import check_types, key_columns, quoted, same_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from evenkey.aggregators import Aggregator


def one_key(df: DataFrame, keys: Sequence[str]) -> Column:
    """Give the key as one column: the user's, or a struct of several under their names.

    Spark hashes a struct as it hashes its fields one after the other, and groups by it as by them.
    """
    found = key_columns(df, keys)
    if len(found) == 1:
        return found[0]
    return F.struct(*(column.alias(name) for name, column in zip(keys, found, strict=True)))


def check_result(
    df: DataFrame, keys: Sequence[str], aggregator: Aggregator, *, windowed: bool
) -> None:
    """Check that no two columns of the result have the same name.

    Parameters
    ----------
    df
        Its session says whether names are distinguished by case.
    keys
        Key columns.
    aggregator
        Bound; has the columns of its result.
    windowed
        Whether the result has windows.

    Raises
    ------
    ConfigurationError
        It is not so.
    """
    own = [*(("window",) if windowed else ()), *aggregator.result.names]
    if aggregator.scope == "key":
        check_names(df, keys, own, aggregator)
        own = ["key", *own]
    for number, name in enumerate(own):
        if any(same_name(df, name, other) for other in own[:number]):
            message = f"{aggregator}: two columns of the result are named {name!r}; rename one"
            if same_name(df, name, "key"):
                message = (
                    f"{aggregator}: a result is named {name!r}, which is the key while it is "
                    "computed; name it otherwise, and rename it afterwards"
                )
            raise ConfigurationError(message)


def check_names(
    df: DataFrame, keys: Sequence[str], own: Sequence[str], aggregator: Aggregator
) -> None:
    """Check that no key column has the name of a column that the aggregator adds to the result.

    Raises
    ------
    ConfigurationError
        One does.
    """
    for key in keys:
        for name in own:
            if same_name(df, key, name):
                fix = f"rename yours: df.withColumnRenamed({key!r}, {f'{key}_key'!r})"
                if aggregator.name == "several":
                    fix = "give the result another name"
                message = (
                    f"key = {key!r}: the result of {aggregator} has a column {name!r} of its own; "
                    f"{fix}"
                )
                raise ConfigurationError(message)


def with_keys(merged: DataFrame, keys: Sequence[str]) -> DataFrame:
    """Give the column ``key`` the names of the user's columns, where it stands."""
    columns: list[Column] = []
    for name in merged.columns:
        if name != "key":
            columns.append(quoted(name))
        elif len(keys) == 1:
            columns.append(F.col("key").alias(keys[0]))
        else:
            columns += [F.col("key").getField(each).alias(each) for each in keys]
    return merged.select(*columns)


def check_groupable(df: DataFrame, keys: Sequence[str]) -> None:
    """Make sure that keys are of types that Arrow, too, can group by.

    Raises
    ------
    ConfigurationError
        They are lists or maps, or hold some.
    """
    check_types(df, keys, (ArrayType, MapType, VariantType), "lists and maps cannot be keys")
