"""Cut the hot keys of a window into pieces, at values of the order in a sample of their rows."""

from __future__ import annotations

import io
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.ipc
from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame, SparkSession

    from evenkey.groupings import Plan, Snapshot

_SAMPLED = 1000
"""Rows of the sample per piece. The size of a piece then has a standard deviation of about 3 %."""
_AT = "at"
_CUTS, _WORKERS, _TIED = "cuts", "cut_workers", "cut_tied"


@dataclass(frozen=True, eq=False)
class Cuts:
    """The pieces of the hot keys, in the order of (hash of the key, order).

    Parameters
    ----------
    table
        One row per piece: the hash of the key, and the order value that is the upper end of the
        previous piece; null in the first piece of a key. A piece has the rows above its value,
        up to the value of the next piece. A piece can be empty.
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
        found: list[int] = np.unique(self.table["hash"].to_numpy()).tolist()
        return found

    def column(self, session: SparkSession, kind: StructType) -> Column:
        """Return the pieces as a scalar subquery: one array of structs of type `kind`.

        Parameters
        ----------
        session
            Session of the query.
        kind
            Type of a piece, from `type_of_piece`.
        """
        fields = [self.table[name].combine_chunks() for name in ("hash", _AT)]
        pieces = pa.StructArray.from_arrays(fields, ["hash", _AT])
        every = pa.ListArray.from_arrays(pa.array([0, len(pieces)], pa.int32()), pieces)
        schema = StructType().add(_CUTS, ArrayType(kind))
        return session.createDataFrame(pa.table({_CUTS: every}), schema).scalar()

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


def type_of_piece(at: StructType) -> StructType:
    """Return the type of a piece, in which all fields may be null, from that of an order value."""
    nullable = StructType([StructField(each.name, each.dataType) for each in at])
    return StructType().add("hash", LongType()).add(_AT, nullable)


def piece_of(hashed: Column, at: Column) -> Column:
    """Return a row's hash and order value as a struct, to compare with the structs of `Cuts`."""
    return F.struct(hashed.alias("hash"), at.alias(_AT))


def make_cuts(
    frame: DataFrame,
    hashed: Column,
    at: Column,
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
    hashed, at
        The hash of the key of a row, and its order value.
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
    weighed = [hashed.alias("hash"), at.alias(_AT), _weight(cost).alias("cost")]
    # Rows are drawn before their keys are hashed.
    drawn = frame.sample(fraction=fraction, seed=0) if fraction < 1 else frame
    sampled = _sorted(drawn.where(is_hot).select(*weighed))
    known = sampled["hash"].to_numpy()
    weights, ties = sampled["cost"].to_numpy(), sampled["tie"].to_numpy()
    taken: list[int | None] = []
    owners: list[NDArray[np.int32]] = []
    keys: list[int] = []
    tied = 0.0
    for row in split[np.argsort(hashes)]:
        hash_ = int(plan.keys[row].astype(np.int64))
        first, last = (int(np.searchsorted(known, hash_, side)) for side in ("left", "right"))
        ends = slice(plan.starts[row], plan.starts[row + 1])
        chosen = [None, *_chosen(weights[first:last], plan.shares[ends], first)]
        taken += chosen
        owners.append(plan.places[ends][: len(chosen)])
        keys += [hash_] * len(chosen)
        if last > first:
            tied = max(tied, float(np.bincount(ties[first:last]).max() / (last - first)))
    cut = sampled[_AT].combine_chunks().take(pa.array(taken, pa.int64()))
    table = pa.table({"hash": pa.array(keys, pa.int64()), _AT: _nullable(cut)})
    return Cuts(table, np.concatenate(owners).astype(np.int32), tied)


def _nullable(structs: pa.StructArray) -> pa.StructArray:
    """Declare that fields may be null, as they are where a struct is null."""
    fields = [each.with_nullable(nullable=True) for each in structs.type]
    values = [structs.field(number) for number in range(len(fields))]
    return pa.StructArray.from_arrays(values, fields=fields, mask=structs.is_null())


def _chosen(
    weights: NDArray[np.float64], shares: NDArray[np.float64], first: int
) -> list[int | None]:
    """Choose the rows of a key's sorted sample that end all pieces but the last."""
    if not len(weights):
        return []
    sums = np.cumsum(weights)
    wanted = np.cumsum(shares)[:-1] / shares.sum() * sums[-1]
    rows = np.minimum(np.searchsorted(sums, wanted), len(weights) - 1)
    chosen: list[int | None] = (first + rows).tolist()
    return chosen


def _weight(cost: Column | None) -> Column:
    return F.lit(1.0) if cost is None else F.coalesce(cost.cast("double"), F.lit(0.0))


def _sorted(rows: DataFrame) -> pa.Table:
    """Take rows to the driver, sorted by key and order value.

    The column ``tie`` numbers the order values of a key.
    """
    ties = F.dense_rank().over(Window.partitionBy("hash").orderBy(_AT))
    # One partition is sorted by the window, and stays so.
    return rows.repartition(1).withColumn("tie", ties).toArrow()
