"""Key grouping: all messages of a key go to one worker, which the hash of the key determines."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.groupings.base import Grouping, Router, Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class KeyGrouping(Grouping):
    """Key grouping (``kg``): the hash of the key modulo the number of workers.

    ``worker = H(key) mod W`` (DKG paper, equation 1), where H is Spark's ``xxhash64``, a signed
    number. In SQL, ``pmod(xxhash64(key), W)`` computes the same worker.

    Guarantee: replication (DistCost) is exactly 1. The maximum load is at least the load of the
    hottest key, which is a share p1 of all messages.

    Examples
    --------
    >>> import numpy as np
    >>> KeyGrouping().router(workers=3).route(np.array([7, 8, 7], dtype=np.uint64)).tolist()
    [1, 2, 1]
    """

    name: ClassVar[str] = "kg"
    native = "hash"
    most_workers_of_a_key = 1

    def _router(self, workers: int, source: int) -> Router:
        return _KeyRouter(workers, source)


class _KeyRouter(Router):
    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del times, weights
        workers[:] = keys.view(np.int64) % self.workers

    def snapshot(self) -> Snapshot:
        return {}

    def restore(self, snapshot: Snapshot) -> None:
        del snapshot
