"""Find the name of a key for messages, by reading a row: plans know only the hash of a key."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from pyspark.sql import functions as F

from evenkey.core.printed_text import printable

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

_LONGEST = 40
"""Maximum number of characters of a value in a name."""


class NamedRows(NamedTuple):
    """Rows in which the name of a key can be found.

    Parameters
    ----------
    frame
        The rows.
    columns, shown
        Key columns, and their names in messages.
    hashed
        Hash of the key, by which plans know it.
    """

    frame: DataFrame
    columns: Sequence[Column]
    shown: Sequence[str]
    hashed: Column


class KeyNames:
    """Finds the name of a key, such as ``customer 17``, from the hash of the key.

    Parameters
    ----------
    sides
        Rows to look in, in this order.
    unknown
        Name of a key that no row has: an input may have other rows each time it is read.
    """

    def __init__(self, sides: Sequence[NamedRows], unknown: str = "a key") -> None:
        self._sides = sides
        self._unknown = unknown
        self._found: dict[int, str] = {}

    def of(self, key: np.uint64) -> str:
        """Return the name of a key. The first call for a key reads rows up to one with the key."""
        hashed = int(key.astype(np.int64))
        if hashed not in self._found:
            names = (_name(side, hashed) for side in self._sides)
            self._found[hashed] = next((name for name in names if name), self._unknown)
        return self._found[hashed]


def _name(side: NamedRows, hashed: int) -> str | None:
    texts = [
        column.cast("string").alias(f"k{number}") for number, column in enumerate(side.columns)
    ]
    rows = side.frame.where(side.hashed == F.lit(hashed)).select(*texts)
    for row in rows.limit(1).collect():
        return ", ".join(map(" ".join, zip(side.shown, map(_cut, row), strict=True)))
    return None


def _cut(value: str | None) -> str:
    text = "null" if value is None else printable(" ".join(value.split()))
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}..."
