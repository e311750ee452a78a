"""Find the keys of a join whose work a sample leaves open, and count their rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from pyspark.sql import functions as F

from evenkey.spark.plans.key_sample import DEVIATIONS

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

_OF_WORKER = 0.02
"""A key is counted again if its work may be larger by this share of a worker's work, although no
row was drawn."""
_OF_KEY = 0.1
"""It is not counted again if its work is not wrong by more than this share of itself."""
_MOST_KEYS = 1_000


class KeyTable(NamedTuple):
    """Keys of a join, with their rows and their work.

    Parameters
    ----------
    hashes
        uint64[k], hashes of the keys.
    tasks
        int64[k], task of each key in Spark's own join.
    left, right
        int64[k], rows on each side, counted or estimated.
    spread
        int64[k], variance of the rows on the sampled side.
    unit
        float64[k], work that a further row on the sampled side makes.
    work
        float64[k], work of each key.
    variance
        float64[k], variance of the work.
    """

    hashes: NDArray[np.uint64]
    tasks: NDArray[np.int64]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    spread: NDArray[np.int64]
    unit: NDArray[np.float64]
    work: NDArray[np.float64]
    variance: NDArray[np.float64]

    def once(self, among: NDArray[np.bool_]) -> Self:
        """Return each of the keys `among` once."""
        rows = np.flatnonzero(among)
        first = rows[np.unique(self.hashes[rows], return_index=True)[1]]
        columns: tuple[Any, ...] = self
        return type(self)(*(column[first] for column in columns))


def unsure(table: KeyTable, fair: float, weight: int, above: float) -> NDArray[np.bool_]:
    """Return bool[k], which keys have to be counted on the sampled side.

    A key of which no row was drawn may have several times the rows for which a drawn row stands.
    Keys are chosen by what is known without the draw: all keys of which a row makes that much
    work. If they were chosen by what was drawn, those whose estimates are too large would be
    corrected, and the others would not.

    Parameters
    ----------
    table
        The keys.
    fair
        Mean work of a worker.
    weight
        The largest number of rows for which a drawn row stands; 1: all rows were drawn.
    above
        The table has all keys whose `unit` is above this, and perhaps others.
    """
    if weight == 1:
        return np.zeros(len(table.hashes), dtype=bool)
    if len(table.unit) > _MOST_KEYS:
        above = max(above, float(np.partition(table.unit, -_MOST_KEYS - 1)[-_MOST_KEYS - 1]))
    open_keys = (table.unit > above) & (DEVIATIONS * table.unit * weight > _OF_WORKER * fair)
    error = DEVIATIONS * table.unit * np.sqrt(table.spread + float(weight) ** 2)
    chosen: NDArray[np.bool_] = open_keys & (error > _OF_KEY * table.work)
    return chosen


def recount(
    table: KeyTable,
    chosen: NDArray[np.bool_],
    name: Literal["left", "right"],
    side: DataFrame,
    hashed: Column,
) -> KeyTable:
    """Count the rows of some keys on the sampled side, and correct their work.

    Parameters
    ----------
    table
        The keys.
    chosen
        bool[k], which keys are counted.
    name, side
        Name and rows of the sampled side.
    hashed
        Hash of the key of a row.
    """
    hashes = table.hashes[chosen].view(np.int64).tolist()
    among = side.select(hashed.alias("hash")).where(F.col("hash").isin(hashes))
    found = among.groupBy("hash").agg(F.count(F.lit(1)).alias("rows")).toArrow()
    counted = dict(zip(found["hash"].to_pylist(), found["rows"].to_pylist(), strict=True))
    return corrected(table, chosen, name, np.array([counted.get(each, 0) for each in hashes]))


def corrected(
    table: KeyTable,
    chosen: NDArray[np.bool_],
    name: Literal["left", "right"],
    counted: NDArray[np.int64],
) -> KeyTable:
    """Return the table with counted rows of the `chosen` keys on the sampled side.

    Examples
    --------
    >>> estimated = [np.array([each]) for each in (7, 0, 0, 500, 0, 500.1, 50.0, 0.0)]
    >>> found = corrected(KeyTable(*estimated), np.array([True]), "left", np.array([3]))
    >>> found.left.tolist(), found.work.round(1).tolist()
    ([3], [1550.3])
    """
    rows = getattr(table, name).copy()
    work, spread, variance = table.work.copy(), table.spread.copy(), table.variance.copy()
    work[chosen] += (counted - rows[chosen]) * table.unit[chosen]
    rows[chosen] = counted
    spread[chosen] = variance[chosen] = 0
    return table._replace(**{name: rows}, work=work, spread=spread, variance=variance)
