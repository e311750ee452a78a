"""The states of the keys of one partition, in memory, sorted by the hash of the key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.spark.states.reserved_columns import HASH

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

NONE = -1
"""Row number of a key that has no state."""


@dataclass(frozen=True, eq=False)
class KeyStates:
    """The states of n keys; it is never changed.

    Parameters
    ----------
    table
        One row for each key, in ascending order of column `HASH`. The other columns are those of
        the key, those of the state, and those that evenkey adds to states.
    keys
        Names of the key columns.
    """

    table: pa.Table
    keys: tuple[str, ...]

    @property
    def hashes(self) -> NDArray[np.int64]:
        """int64[n], hash of each key."""
        hashes: NDArray[np.int64] = self.table[HASH].to_numpy()
        return hashes

    @property
    def nbytes(self) -> int:
        """Size of all columns, in bytes."""
        return int(self.table.nbytes)

    def find(self, wanted: pa.Table) -> NDArray[np.int64]:
        """Return the row of each of m keys, int64[m]; `NONE` for a key that has no state.

        Parameters
        ----------
        wanted
            Table of m rows with column `HASH` and the key columns.
        """
        hashes = wanted[HASH].to_numpy()
        first = np.searchsorted(self.hashes, hashes, side="left")
        counts = np.searchsorted(self.hashes, hashes, side="right") - first
        rows = np.where(counts > 0, first, NONE)
        found = np.flatnonzero(counts)
        if len(found):
            same = same_keys(self.table, rows[found], wanted, found, self.keys)
            # Different keys may have the same hash.
            for number in found[~same].tolist():
                rows[number] = self._other(wanted, number, int(first[number]), int(counts[number]))
        return rows.astype(np.int64)

    def _other(self, wanted: pa.Table, number: int, first: int, count: int) -> int:
        candidates = np.arange(first + 1, first + count)
        repeated = np.full(len(candidates), number)
        same = same_keys(self.table, candidates, wanted, repeated, self.keys)
        return int(candidates[same][0]) if same.any() else NONE

    def changed(self, changes: pa.Table, gone: NDArray[np.bool_]) -> KeyStates:
        """Return the states after changes.

        Parameters
        ----------
        changes
            New states of m different keys, with the columns of `table`.
        gone
            bool[m], whether the key has no state any more.
        """
        rows = self.find(changes)
        stays = np.ones(self.table.num_rows, dtype=bool)
        stays[rows[rows != NONE]] = False
        added = changes.filter(pa.array(~gone)).cast(self.table.schema)
        return self.with_table(pa.concat_tables([self.table.filter(pa.array(stays)), added]))

    def with_table(self, table: pa.Table) -> KeyStates:
        """Return the states of a table with the same columns, whose rows have any order."""
        order = np.argsort(table[HASH].to_numpy(), kind="stable")
        return KeyStates(table.take(pa.array(order)).combine_chunks(), self.keys)


def same_keys(
    left: pa.Table,
    left_rows: NDArray[np.int64],
    right: pa.Table,
    right_rows: NDArray[np.int64],
    keys: Sequence[str],
) -> NDArray[np.bool_]:
    """Compare the keys of pairs of rows, bool[n]; nulls are equal, and so are NaNs.

    Parameters
    ----------
    left, right
        Tables with the key columns `keys`.
    left_rows, right_rows
        int64[n], the rows of each pair.
    keys
        Names of the key columns.
    """
    same = np.ones(len(left_rows), dtype=bool)
    for name in keys:
        one = left[name].take(pa.array(left_rows))
        other = right[name].take(pa.array(right_rows)).cast(one.type)
        equal = pc.fill_null(pc.equal(one, other), fill_value=False)
        both = pc.and_(pc.is_null(one, nan_is_null=True), pc.is_null(other, nan_is_null=True))
        if pa.types.is_floating(one.type):
            apart = pc.not_equal(pc.is_null(one), pc.is_null(other))
            both = pc.and_not(both, apart)
        same &= np.asarray(pc.or_(equal, both))
    return same


def without_negative_zeros(keys: pa.Table) -> pa.Table:
    """Replace negative zeros by zeros, as Spark's ``groupBy`` does."""
    for number, field in enumerate(keys.schema):
        if pa.types.is_floating(field.type):
            zero = pa.scalar(0.0, field.type)
            keys = keys.set_column(number, field, pc.add(keys[number], zero))
    return keys
