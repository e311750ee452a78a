"""What a row holds, as Spark's hash can tell it from any other."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructType, VariantType

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_UNHASHED = frozenset({"GeographyType", "GeometryType"})
"""By name, as some of them are not there in every version of Spark."""


def hashed_parts(column: Column, kind: DataType) -> list[Column]:
    """Say what of a column Spark should hash, so that different values have different hashes.

    Spark's hash skips nulls, so that (null, 1) and (1, null) are alike to it, joins arrays to
    their neighbours, knows no maps and variants, and follows collations.
    """
    if isinstance(kind, StructType):
        fields = [
            part
            for number, field in enumerate(kind.fields)
            for part in hashed_parts(column.getField(kind.names[number]), field.dataType)
        ]
        return [column.isNull(), *fields]
    if isinstance(kind, ArrayType):
        elements = F.transform(
            column, lambda each: F.xxhash64(*hashed_parts(each, kind.elementType))
        )
        return [F.coalesce(F.size(column), F.lit(-1)), elements]
    if isinstance(kind, MapType):
        entries = F.transform(
            F.map_entries(column),
            lambda each: F.xxhash64(
                *hashed_parts(each.getField("key"), kind.keyType),
                *hashed_parts(each.getField("value"), kind.valueType),
            ),
        )
        return [F.coalesce(F.size(column), F.lit(-1)), F.array_sort(entries)]
    if isinstance(kind, VariantType):
        return [column.isNull(), F.to_json(column)]
    if type(kind).__name__ in _UNHASHED:
        return [column.isNull()]
    return [column.isNull(), column.cast("binary") if isinstance(kind, StringType) else column]
