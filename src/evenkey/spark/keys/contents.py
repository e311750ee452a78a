"""Hash the contents of rows with Spark's hash, so that different contents have different hashes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, MapType, StringType, StructType, VariantType

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

_UNHASHED = frozenset({"GeographyType", "GeometryType"})
"""Types that Spark cannot hash, by name, because some versions of Spark do not have them."""


def hashed_parts(column: Column, kind: DataType) -> list[Column]:
    """Return expressions to hash in place of a column, so that different values hash differently.

    Spark's hash of the column itself does not ensure that. Spark's hash skips nulls, so (null, 1)
    and (1, null) have the same hash. It hashes neighbouring arrays as if they were one array. It
    cannot hash maps and variants. And under a collation, texts with different bytes can have the
    same hash.
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
