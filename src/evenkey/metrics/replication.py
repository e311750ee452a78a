"""On how many workers keys lie: replication, from counts by (worker, key)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PairCounts"]


class PairCounts:
    """Messages by (worker, key), added up batch by batch.

    Memory is proportional to the distinct pairs.

    Parameters
    ----------
    workers
        How many workers there are, W.

    Examples
    --------
    >>> counts = PairCounts(workers=3)
    >>> counts.add(np.array([0, 1, 0, 2]), np.array([7, 7, 7, 8], dtype=np.uint64))
    >>> counts.loads.tolist(), counts.pairs, counts.keys, counts.dist_cost
    ([2, 1, 1], 3, 2, 1.5)
    """

    def __init__(self, workers: int) -> None:
        self.workers = workers
        self._table = _table(np.empty(0, np.int32), np.empty(0, np.uint64), np.empty(0, np.int64))

    def add(
        self,
        workers: NDArray[np.int32],
        keys: NDArray[np.uint64],
        counts: NDArray[np.int64] | None = None,
    ) -> None:
        """Add messages.

        Parameters
        ----------
        workers
            int[n], where each lies, 0 to W - 1.
        keys
            uint64[n], hashes of keys.
        counts
            int64[n], how many messages each stands for; None is one each.
        """
        ones = np.ones(len(keys), dtype=np.int64) if counts is None else counts
        self._add(_table(workers, keys, ones))

    def merge(self, other: PairCounts) -> None:
        """Add all that `other` holds."""
        self._add(other._table)

    def _add(self, table: pa.Table) -> None:
        both = pa.concat_tables([self._table, table])
        summed = both.group_by(["worker", "key"]).aggregate([("count", "sum")])
        self._table = summed.rename_columns(["worker", "key", "count"])

    @property
    def loads(self) -> NDArray[np.int64]:
        """int64[W], messages per worker."""
        loads = np.zeros(self.workers, dtype=np.int64)
        np.add.at(loads, self._table["worker"].to_numpy(), self._table["count"].to_numpy())
        return loads

    @property
    def pairs(self) -> int:
        """Distinct (worker, key) pairs."""
        return int(self._table.num_rows)

    @property
    def keys(self) -> int:
        """Distinct keys."""
        return int(pc.count_distinct(self._table["key"]).as_py())

    @property
    def dist_cost(self) -> float:
        """Mean number of workers a key lies on (DistCost, DKG paper, equation 8); 1 if none."""
        return self.pairs / self.keys if self.pairs else 1.0


def _table(
    workers: NDArray[np.int32], keys: NDArray[np.uint64], counts: NDArray[np.int64]
) -> pa.Table:
    columns = [
        pa.array(np.asarray(workers, np.int32)),
        pa.array(np.asarray(keys, np.uint64)),
        pa.array(np.asarray(counts, np.int64)),
    ]
    return pa.Table.from_arrays(columns, names=["worker", "key", "count"])
