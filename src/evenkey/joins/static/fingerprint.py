"""Fingerprint of a static side: equal if two DataFrames have the same rows, in any order."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

from evenkey.spark.keys import hashed_parts, key_columns
from evenkey.spark.sessions import returned

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_PIECE = 24
"""Number of bits of each hash that go into one sum. It is so small that the sum over 2^39 rows fits
into a bigint."""


@returned
class Fingerprint(NamedTuple):
    """Number and digest of rows: equal for equal rows, else equal with a probability of 2^-64.

    Parameters
    ----------
    rows
        Number of rows.
    digest
        Sum of the hashes of all rows, modulo 2^64, in hexadecimal.
    """

    rows: int
    digest: str


def fingerprint_of(df: DataFrame) -> Fingerprint:
    """Compute the fingerprint of a batch DataFrame with Spark, in one pass without a shuffle.

    Repeated rows count each time. The order of rows and of a map's entries, the session's time
    zone, and Spark's plan of the DataFrame do not matter. NaN equals NaN and 0.0 equals -0.0, as in
    SQL. Names and types of columns are not part of the fingerprint.
    """
    parts = [
        part
        for column, field in zip(key_columns(df, df.columns), df.schema, strict=True)
        for part in hashed_parts(column, field.dataType)
    ]
    # The hash is a column of the input of the aggregate, so that Spark computes it only once per
    # row.
    hashed = df.select(F.xxhash64(F.lit(len(df.columns)), *parts).alias("hash"))
    sums = [
        F.sum(F.shiftrightunsigned("hash", start).bitwiseAND(F.lit((1 << _PIECE) - 1)))
        for start in range(0, 64, _PIECE)
    ]
    rows, *pieces = hashed.agg(F.count(F.lit(1)), *sums).collect()[0]
    total = sum((piece or 0) << (_PIECE * number) for number, piece in enumerate(pieces))
    return Fingerprint(rows, f"{total % (1 << 64):016x}")
