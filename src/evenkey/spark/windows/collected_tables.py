"""Small tables that are computed on the cluster, and then are part of a query as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, MapType, StructField, StructType

from evenkey.spark.keys.given_columns import quoted
from evenkey.spark.windows.served_columns import boxed, unboxed

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

_UNCOLLECTED = frozenset(
    {
        "CalendarIntervalType",
        "GeographyType",
        "GeometryType",
        "NullType",
        "UserDefinedType",
        "VariantType",
        "YearMonthIntervalType",
    }
)
"""Types that Arrow does not bring to the driver and back, by name, because some versions of Spark
do not have them."""


def collected(table: DataFrame) -> DataFrame:
    """Compute a small table, and return it as a table of values, in one partition.

    A query that reads it then needs neither its input nor another query. In scalar subqueries such
    tables would wait for each other in Spark's pool of 16 threads, forever with many of them, and
    each subquery would hold a copy of the plan of all rows.

    Parameters
    ----------
    table
        Columns of types that `why_not_collected` allows.
    """
    fields = [(quoted(each.name), each) for each in table.schema]
    boxes = {each.name: boxed(name) for name, each in fields if _is_refused(each)}
    sent = table.withColumns(boxes) if boxes else table
    found = table.sparkSession.createDataFrame(sent.toArrow(), sent.schema).coalesce(1)
    columns = (
        unboxed(name).alias(each.name) if each.name in boxes else name for name, each in fields
    )
    return found.select(*columns) if boxes else found


def why_not_collected(kind: DataType) -> str | None:
    """Return why values of a type cannot be in a table of `collected`; None: they can."""
    if isinstance(kind, StructType) and len({*kind.names}) < len(kind.names):
        return f"{kind.simpleString()} has two fields of one name"
    for each in _fields_of(kind):
        if _is_refused(each):
            shown = each.dataType.simpleString()
            return f"PySpark refuses nulls of type {shown}, which has a field that is never null"
        if (why := why_not_collected(each.dataType)) is not None:
            return why
    if _UNCOLLECTED.isdisjoint(each.__name__ for each in type(kind).__mro__):
        return None
    return f"Spark cannot bring values of type {kind.simpleString()} to the driver and back"


def _fields_of(kind: DataType) -> list[StructField]:
    """Return the types in a type, and whether each can be null."""
    if isinstance(kind, ArrayType):
        return [StructField("element", kind.elementType, kind.containsNull)]
    if isinstance(kind, MapType):
        value = StructField("value", kind.valueType, kind.valueContainsNull)
        return [StructField("key", kind.keyType, nullable=False), value]
    return kind.fields if isinstance(kind, StructType) else []


def _is_refused(field: StructField) -> bool:
    """Return whether PySpark refuses a null: that of a struct with a field that is never null."""
    return field.nullable and _has_required(field.dataType)


def _has_required(kind: DataType) -> bool:
    return isinstance(kind, StructType) and any(
        not each.nullable or _has_required(each.dataType) for each in kind
    )
