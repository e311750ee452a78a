"""Find columns of type CHAR, which Spark reads as text, and pads before it compares them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pyspark.sql.types import StructType

from evenkey.spark.keys.given_columns import parts_of_type

if TYPE_CHECKING:
    from pyspark.sql.types import StructField

_DECLARED = "__CHAR_VARCHAR_TYPE_STRING"
"""Metadata in which Spark keeps the type that the table declares."""
_CHAR = re.compile(r"(?<!var)char\((\d+)\)")


def char_lengths(field: StructField) -> list[int]:
    """Return the lengths of the CHAR types of a column, also within arrays or structs.

    Spark pads the texts of such a column to its length. When it compares two such columns, it pads
    the shorter texts again. So equal keys of two columns can have different hashes.
    """
    fields = [field]
    for part in parts_of_type(field.dataType):
        if isinstance(part, StructType):
            fields += part.fields
    declared = (
        (each.metadata or {}).get(_DECLARED, each.dataType.simpleString()) for each in fields
    )
    return [int(length) for each in declared for length in _CHAR.findall(str(each))]


def differ_in_char(left: StructField, right: StructField) -> bool:
    """Return whether both columns have CHAR types, and not the same ones."""
    lengths = char_lengths(left), char_lengths(right)
    return all(lengths) and lengths[0] != lengths[1]
