"""Cut the hot keys of a window into pieces, at values of the order in a sample of their rows."""

from __future__ import annotations

import io
import itertools
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.ipc
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructType

from evenkey.spark.windows.sort_orders import as_one, fields_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from evenkey.groupings import Plan, Snapshot
    from evenkey.spark.windows.sort_orders import SortOrder

_SAMPLED = 1000
"""Rows of the sample per piece. The size of a piece then has a standard deviation of about 3 %."""
_NEAR = 50
"""One of so many rows of a piece is near its first row, and as many are near its last one."""
_HASH, _AT, _FIRST, _LAST = "hash", "at", "first", "last"
_COST, _TIE = "cost", "tie"
_CUTS, _WORKERS, _TIED = "cuts", "cut_workers", "cut_tied"


class CutArrays(NamedTuple):
    """The pieces as columns of arrays with one element per piece, equal in all rows.

    Each order value is in several arrays, one for each of its fields (`fields_of`).

    Parameters
    ----------
    hashes
        Hash of the key.
    after
        The upper end of the previous piece; null in the first piece of a key.
    first, last
        Order values near the first and the last row of the piece; null if there are none.
    """

    hashes: Column
    after: list[Column]
    first: list[Column]
    last: list[Column]


@dataclass(frozen=True, eq=False)
class Cuts:
    """The pieces of the hot keys, in the order of (hash of the key, order).

    Parameters
    ----------
    table
        One row per piece: the hash of the key, and the order value that is the upper end of the
        previous piece; null in the first piece of a key. A piece has the rows above its value,
        up to the value of the next piece. A piece can be empty. Also an order value near the first
        row of the piece, and one near its last row; null if the sample has no row of the piece.
        Each field of an order value is a column.
    workers
        int32[n], worker of each piece.
    tied
        Share of a hot key's rows that its most frequent order value has, by the sample; the
        largest such share of all hot keys, from 0 to 1.
    """

    table: pa.Table
    workers: NDArray[np.int32]
    tied: float

    @cached_property
    def hashes(self) -> list[int]:
        """Hashes of the hot keys."""
        found: list[int] = np.unique(self.table[_HASH].to_numpy()).tolist()
        return found

    def columns(self, frame: DataFrame, orders: Sequence[SortOrder]) -> CutArrays:
        """Return the pieces as columns, from a scalar subquery.

        Parameters
        ----------
        frame, orders
            The rows, and the order of the window.
        """
        at = [field.alias(f"{number}") for number, field in enumerate(fields_of(orders))]
        types = [field.dataType for field in frame.select(*at).schema]
        names = [[f"{name}_{n}" for n in range(len(at))] for name in (_AT, _FIRST, _LAST)]
        schema = StructType().add(_HASH, ArrayType(LongType()))
        for each in names:
            for name, kind in zip(each, types, strict=True):
                schema.add(name, ArrayType(kind))
        offsets = pa.array([0, len(self.table)], pa.int32())
        row = {
            name: pa.ListArray.from_arrays(offsets, self.table[name].combine_chunks())
            for name in schema.names
        }
        one_row = frame.sparkSession.createDataFrame(pa.table(row), schema)
        pieces = one_row.select(F.struct("*")).scalar()
        values = ([pieces[name] for name in each] for each in names)
        return CutArrays(pieces[_HASH], *values)

    def to_arrays(self) -> Snapshot:
        """Return the pieces as named arrays."""
        sink = io.BytesIO()
        with pa.ipc.new_file(sink, self.table.schema) as file:
            file.write_table(self.table)
        return {
            _CUTS: np.frombuffer(sink.getvalue(), np.uint8),
            _WORKERS: self.workers,
            _TIED: np.array(self.tied),
        }

    @classmethod
    def from_arrays(cls, arrays: Snapshot) -> Self | None:
        """Restore pieces from the arrays of `to_arrays`; None: no key was hot."""
        if _CUTS not in arrays:
            return None
        table = pa.ipc.open_file(pa.py_buffer(arrays[_CUTS].tobytes())).read_all()
        return cls(table, arrays[_WORKERS], float(arrays[_TIED]))


def make_cuts(
    frame: DataFrame,
    hashed: Column,
    orders: Sequence[SortOrder],
    cost: Column | None,
    plan: Plan,
    rows: int | None,
) -> Cuts | None:
    """Cut each key that a plan splits, so that the parts have the shares of the plan's workers.

    This takes a sample of the rows of the hot keys to the driver.

    Parameters
    ----------
    frame
        The rows.
    hashed
        The hash of the key of a row.
    orders
        The order of the window.
    cost
        Cost of a row; None: each row costs the same.
    plan
        Plan, in which no key has two parts on one worker.
    rows
        Number of rows; None: those of the hot keys are counted.

    Returns
    -------
    Cuts or None
        None: the plan splits no key.
    """
    split = np.flatnonzero(np.diff(plan.starts) > 1)
    if not len(split):
        return None
    hashes = plan.keys[split].view(np.int64)
    pieces = int(np.diff(plan.starts)[split].sum())
    is_hot = hashed.isin(hashes.tolist())
    parts, among = (pieces, frame.where(is_hot).count()) if rows is None else (plan.workers, rows)
    fraction = min(1.0, _SAMPLED * parts / max(among, 1))
    weighed = [hashed.alias(_HASH), as_one(orders).alias(_AT), _weight(cost).alias(_COST)]
    # Rows are drawn before their keys are hashed.
    drawn = frame.sample(fraction=fraction, seed=0) if fraction < 1 else frame
    sampled = _sorted(drawn.where(is_hot).select(*weighed))
    known = sampled[_HASH].to_numpy()
    weights, ties = sampled[_COST].to_numpy(), sampled[_TIE].to_numpy()
    taken: list[int | None] = []
    near: list[tuple[int | None, int | None]] = []
    owners: list[NDArray[np.int32]] = []
    keys: list[int] = []
    tied = 0.0
    for row in split[np.argsort(hashes)]:
        hash_ = int(plan.keys[row].astype(np.int64))
        first, last = (int(np.searchsorted(known, hash_, side)) for side in ("left", "right"))
        ends = slice(plan.starts[row], plan.starts[row + 1])
        inner = _chosen(weights[first:last], plan.shares[ends], first)
        chosen = [None, *inner]
        taken += chosen
        bounds = [first, *(row + 1 for row in inner), last]
        near += [_near(*each) for each in itertools.pairwise(bounds)]
        owners.append(plan.places[ends][: len(chosen)])
        keys += [hash_] * len(chosen)
        if last > first:
            tied = max(tied, float(np.bincount(ties[first:last]).max() / (last - first)))
    columns = {_HASH: pa.array(keys, pa.int64())}
    fields = sampled[_AT].combine_chunks().flatten()
    firsts, lasts = zip(*near, strict=True)
    for name, places in ((_AT, taken), (_FIRST, firsts), (_LAST, lasts)):
        of_pieces = pa.array(places, pa.int64())
        columns |= {f"{name}_{n}": field.take(of_pieces) for n, field in enumerate(fields)}
    return Cuts(pa.table(columns), np.concatenate(owners).astype(np.int32), tied)


def _chosen(weights: NDArray[np.float64], shares: NDArray[np.float64], first: int) -> list[int]:
    """Choose the rows of a key's sorted sample that end all pieces but the last."""
    if not len(weights):
        return []
    sums = np.cumsum(weights)
    wanted = np.cumsum(shares)[:-1] / shares.sum() * sums[-1]
    rows = np.minimum(np.searchsorted(sums, wanted), len(weights) - 1)
    chosen: list[int] = (first + rows).tolist()
    return chosen


def _near(first: int, end: int) -> tuple[int | None, int | None]:
    """Choose rows near the first and the last one of a piece, whose sample ends before `end`."""
    if end <= first:
        return None, None
    inside = (end - first) // _NEAR
    return first + inside, end - 1 - inside


def _weight(cost: Column | None) -> Column:
    return F.lit(1.0) if cost is None else F.coalesce(cost.cast("double"), F.lit(0.0))


def _sorted(rows: DataFrame) -> pa.Table:
    """Take rows to the driver, sorted by key and order value.

    The column `_TIE` numbers the order values of a key.
    """
    ties = F.dense_rank().over(Window.partitionBy(_HASH).orderBy(_AT))
    # One partition is sorted by the window, and stays so.
    return rows.repartition(1).withColumn(_TIE, ties).toArrow()
