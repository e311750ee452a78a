"""Small tables that are computed on the cluster, and then are part of a query as values."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql.types import ArrayType, MapType, StructType

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
    return table.sparkSession.createDataFrame(table.toArrow(), table.schema).coalesce(1)


def why_not_collected(kind: DataType) -> str | None:
    """Return why values of a type cannot be in a table of `collected`; None: they can."""
    if isinstance(kind, ArrayType):
        return why_not_collected(kind.elementType)
    if isinstance(kind, MapType):
        return why_not_collected(kind.keyType) or why_not_collected(kind.valueType)
    if isinstance(kind, StructType):
        if len({*kind.names}) < len(kind.names):
            return f"{kind.simpleString()} has two fields of one name"
        return next((why for each in kind if (why := why_not_collected(each.dataType))), None)
    if _UNCOLLECTED.isdisjoint(each.__name__ for each in type(kind).__mro__):
        return None
    return f"Spark cannot bring values of type {kind.simpleString()} to the driver and back"
