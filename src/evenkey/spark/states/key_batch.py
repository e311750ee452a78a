"""The rows of keys in an epoch, with the keys' states: what the user's function gets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from evenkey.spark.states.key_states import same_keys
from evenkey.spark.states.reserved_columns import CONTENT, HASH, TIME

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class KeyBatch:
    """The rows and the states of n keys.

    A key is in the batch if it has rows in the epoch, or if its timer is due. Each key is in one
    batch of an epoch, with all its rows of the epoch.

    Parameters
    ----------
    states
        Table of n rows: the key columns, then the columns of the state. The columns of the state
        are null for a key without state.
    rows
        Table of m rows, with the columns of the stream. The rows of a key are neighbours, in the
        order of their event times if there are any.
    positions
        int64[m], ascending: the row of `states` with the key of each row.
    due
        bool[n], whether the timer of each key is due.
    now
        Time of the clock in the epoch: the watermark, or without event times the time at which the
        epoch began. None: no event time is known yet.
    """

    states: pa.Table
    rows: pa.Table
    positions: NDArray[np.int64]
    due: NDArray[np.bool_]
    now: datetime | None


class RowsByKey(NamedTuple):
    """Rows, ordered by key.

    Parameters
    ----------
    rows
        Table of m rows.
    positions
        int64[m], ascending: number of the key of each row.
    firsts
        int64[n], the first row of each key.
    """

    rows: pa.Table
    positions: NDArray[np.int64]
    firsts: NDArray[np.int64]


def by_key(rows: pa.Table, keys: Sequence[str]) -> RowsByKey:
    """Order rows by the hash of the key, event time and contents, and number their keys.

    The order does not depend on the order in which the rows came, except for equal rows. So a task
    that runs again calls the user's function with the same rows in the same order.

    Parameters
    ----------
    rows
        Table with the key columns and the columns `HASH` and `CONTENT`; `TIME` if there are event
        times.
    keys
        Names of the key columns.
    """
    hashes = rows[HASH].to_numpy()
    within = [rows[CONTENT].to_numpy()]
    if TIME in rows.column_names:
        times = rows[TIME].combine_chunks()
        within += [times.fill_null(0).to_numpy(), times.is_valid().to_numpy(zero_copy_only=False)]
    order = np.lexsort((*within, hashes))
    begins = _begins(rows, order, hashes, keys)
    starts = hashes[order[begins]]
    if len(np.unique(starts)) < len(starts):
        # Different keys have the same hash, so their rows may be mixed.
        order = np.lexsort((*within, _numbered(rows, keys), hashes))
        begins = _begins(rows, order, hashes, keys)
    return RowsByKey(
        rows.take(pa.array(order)).combine_chunks(),
        np.cumsum(begins, dtype=np.int64) - 1,
        np.flatnonzero(begins),
    )


def _begins(
    rows: pa.Table, order: NDArray[np.int64], hashes: NDArray[np.int64], keys: Sequence[str]
) -> NDArray[np.bool_]:
    """Return whether each row, in an order, has another key than the previous row."""
    begins = np.ones(len(order), dtype=bool)
    begins[1:] = hashes[order[1:]] != hashes[order[:-1]]
    same = np.flatnonzero(~begins)
    begins[same] = ~same_keys(rows, order[same - 1], rows, order[same], keys)
    return begins


def _numbered(rows: pa.Table, keys: Sequence[str]) -> NDArray[np.int64]:
    """Number the keys of m rows, int64[m]; equal keys have equal numbers."""
    values = zip(*(rows[name].to_pylist() for name in keys), strict=True)
    # Zero equals negative zero, and their texts differ.
    texts = ["\0".join(repr(0 if each == 0 else each) for each in key) for key in values]
    _, numbers = np.unique(np.array(texts), return_inverse=True)
    return numbers.astype(np.int64)
