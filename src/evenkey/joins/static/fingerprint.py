"""Fingerprint of a static side: equal where two DataFrames have the same rows, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

from evenkey.spark.keys import hashed_parts, key_columns
from evenkey.spark.sessions import returned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PIECE = 24
"""Bits of a hash that are added up at a time: 2^39 rows fit into a bigint."""


@returned
class Fingerprint(NamedTuple):
    """What is the same for the same rows, and differs for others but by a chance of 2^-64.

    Parameters
    ----------
    rows
        How many there are.
    digest
        Sum of their hashes, modulo 2^64, in hexadecimal.
    """

    rows: int
    digest: str


def fingerprint_of(df: DataFrame) -> Fingerprint:
    """Compute the fingerprint of a batch DataFrame, by Spark, in one pass without a shuffle.

    Rows count as often as they come, and their order is of no matter; nor is that of a map's
    entries, the session's time zone, or how Spark plans the DataFrame. NaN equals NaN and 0.0
    equals -0.0, as in SQL. Names and types of columns are not part of it.
    """
    parts = [
        part
        for column, field in zip(key_columns(df, df.columns), df.schema, strict=True)
        for part in hashed_parts(column, field.dataType)
    ]
    # One column at a time goes into the aggregate, so that Spark computes each hash once.
    hashed = df.select(F.xxhash64(F.lit(len(df.columns)), *parts).alias("hash"))
    sums = [
        F.sum(F.shiftrightunsigned("hash", start).bitwiseAND(F.lit((1 << _PIECE) - 1)))
        for start in range(0, 64, _PIECE)
    ]
    rows, *pieces = hashed.agg(F.count(F.lit(1)), *sums).collect()[0]
    total = sum((piece or 0) << (_PIECE * number) for number, piece in enumerate(pieces))
    return Fingerprint(rows, f"{total % (1 << 64):016x}")
