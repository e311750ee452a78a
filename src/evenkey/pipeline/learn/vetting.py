"""Check which labelled records of a DataFrame can be learned from, and why others cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, AtomicType, NumericType

from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys import find_columns, quoted
from evenkey.spark.sessions import from_arrow_type

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import DataType

    from evenkey.pipeline.learn.base import Learner

REASON = "reason"
"""Column that says why a record cannot be learned from; null if it can."""


def rejected_records(df: DataFrame, learner: Learner[Any]) -> DataFrame:
    """Return the rows of a batch that `train` leaves out, with the column ``reason``.

    `train` leaves out rows with a null, an empty label or a number that is not finite.

    Parameters
    ----------
    df, learner
        See `train`.

    Raises
    ------
    ConfigurationError
        A column is missing or has a type that does not fit the learner.

    Examples
    --------
    >>> from evenkey.applications import NaiveBayes
    >>> rows = [("tea", "green tea"), ("bar", "bar of gold"), ("tea", None)]
    >>> df = spark.createDataFrame(rows, "label string, text string")
    >>> [row["reason"] for row in rejected_records(df, NaiveBayes()).collect()]
    ['text is null']
    """
    return vetted_records(df, learner).filter(F.col(REASON).isNotNull())


def vetted_records(df: DataFrame, learner: Learner[Any]) -> DataFrame:
    """Return ``label`` and the learner's fields, cast to the learner's types, and ``reason``.

    Raises
    ------
    ConfigurationError
        A column is missing or has a type that does not fit the learner.
    """
    fields = [pa.field("label", pa.string()), *learner.fields]
    columns, reasons = [], []
    for field in fields:
        (found,) = find_columns(df, field.name, "column")
        _check_type(field, df.schema[found].dataType)
        column = quoted(found).cast(from_arrow_type(field.type))
        columns.append(column.alias(field.name))
        reasons.append(_reason(field, column))
    return df.select(*columns, F.coalesce(*reasons).alias(REASON))


def _check_type(field: pa.Field, kind: DataType) -> None:
    if pa.types.is_list(field.type):
        fits = isinstance(kind, ArrayType) and isinstance(kind.elementType, NumericType)
    else:
        fits = isinstance(kind, AtomicType if pa.types.is_string(field.type) else NumericType)
    if not fits:
        wanted = from_arrow_type(field.type).simpleString()
        message = (
            f"column {field.name!r} is of type {kind.simpleString()}; it must be {wanted}: "
            "cast it first"
        )
        raise ConfigurationError(message)


def _reason(field: pa.Field, column: Column) -> Column:
    """Return a column that says why a value cannot be learned from; null where it can."""
    name = field.name
    absent = F.when(column.isNull(), f"{name} is null")
    if pa.types.is_list(field.type):
        nulls = F.when(F.exists(column, lambda each: each.isNull()), f"a number of {name} is null")
        wild = F.when(F.exists(column, _is_wild), f"a number of {name} is not finite")
        return F.coalesce(absent, nulls, wild)
    if pa.types.is_floating(field.type):
        return F.coalesce(absent, F.when(_is_wild(column), f"{name} is not finite"))
    if name == "label":
        return F.coalesce(absent, F.when(column == "", "the label is empty"))
    return absent


def _is_wild(number: Column) -> Column:
    return F.isnan(number) | (F.abs(number) == float("inf"))
