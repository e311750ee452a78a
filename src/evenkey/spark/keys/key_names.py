"""Find the name of a key for messages, by reading a row: plans know only the hash of a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_LONGEST = 40
"""Maximum number of characters of a value in a name."""


def name_of_key(
    frame: DataFrame,
    columns: Sequence[Column],
    shown: Sequence[str],
    hashed: Column,
    key: np.uint64,
) -> str | None:
    """Return the name of a key, such as ``customer 17``, from the key's hash.

    This reads the input up to the first row with the key. None: no row has the key.
    """
    texts = [column.cast("string").alias(f"k{number}") for number, column in enumerate(columns)]
    rows = frame.where(hashed == F.lit(int(key.astype(np.int64)))).select(*texts)
    for row in rows.limit(1).collect():
        return ", ".join(map(" ".join, zip(shown, map(_cut, row), strict=True)))
    return None


def _cut(value: str | None) -> str:
    text = "null" if value is None else " ".join(value.split())
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
