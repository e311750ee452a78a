"""Combine several columns into one key, and check that columns of a result have different names."""

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
    """Return the key as one column: the user's column, or a struct if there are several.

    In Spark, hashing or grouping by the struct gives the same result as by its fields in order.
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
        DataFrame whose session determines whether names that differ in case are different.
    keys
        Names of the key columns.
    aggregator
        Bound aggregator, which knows the columns of its result.
    windowed
        Whether the result has windows.

    Raises
    ------
    ConfigurationError
        Two columns have the same name.
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
                    f"{aggregator}: a result is named {name!r}, which is the key's name during the "
                    "computation; choose another name, and rename the column afterwards"
                )
            raise ConfigurationError(message)


def check_names(
    df: DataFrame, keys: Sequence[str], own: Sequence[str], aggregator: Aggregator
) -> None:
    """Check that no key column has the name of a column that the aggregator adds to the result.

    Raises
    ------
    ConfigurationError
        A key column has the name of a column that the aggregator adds.
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
    """Replace the column ``key`` by the user's key columns, at the same position."""
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
    """Check that Arrow can group by the types of the key columns, as Spark can.

    Raises
    ------
    ConfigurationError
        The values of a key column are lists or maps, or contain lists or maps.
    """
    check_types(df, keys, (ArrayType, MapType, VariantType), "lists and maps cannot be keys")
