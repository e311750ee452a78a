"""Offline greedy: whole keys, by decreasing frequency, each on the least loaded worker."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.checking import check_workers
from evenkey.groupings.base import Grouping, Router, Snapshot
from evenkey.groupings.tables.base import PLACE, merge_places
from evenkey.groupings.tables.given_frequencies import descending, on_least_loaded
from evenkey.groupings.tables.key_table import check_read, items_of, table_of, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class OfflineGreedy(Grouping):
    """Offline greedy (``off-greedy``): places whole keys by frequencies that are known in advance.

    The plan needs the frequency of every key. In descending order of frequency, each key goes to
    the worker with the least load so far, in ties to the worker with the lowest number (PKG paper,
    section 6, Off-Greedy). This is the rule longest processing time first. A key that is not in the
    plan, or every key if there is no plan, goes to its worker under key grouping.

    Guarantee: a key of the plan is on one worker, with any number of sources. With true
    frequencies, the maximum load is at most ``4/3 - 1/(3W)`` times the maximum load of the best
    placement of whole keys (R. L. Graham, Bounds on multiprocessing timing anomalies, SIAM J. Appl.
    Math. 17, 1969). No placement of whole keys has a maximum load below the load of the hottest
    key. The frequencies of a stream are not known in advance: use this grouping as the reference
    for groupings that learn them, and for batches that were counted first.

    Examples
    --------
    >>> import numpy as np
    >>> grouping, keys = OfflineGreedy(), np.array([7, 8, 9], dtype=np.uint64)
    >>> router = grouping.router(workers=2)
    >>> router.remember(grouping.plan(keys, np.array([2.0, 5.0, 2.0]), workers=2))
    >>> router.route(keys).tolist()
    [1, 0, 1]
    """

    name: ClassVar[str] = "off-greedy"
    compiled: ClassVar[bool] = True
    given_frequencies: ClassVar[bool] = True

    def _router(self, workers: int, source: int) -> Router:
        return _OfflineGreedyRouter(workers, source)

    def plan(self, keys: NDArray[np.uint64], counts: NDArray[np.float64], workers: int) -> Snapshot:
        """Place keys by decreasing frequency, ties by hash, in O(k (log k + log W)).

        Raises
        ------
        ConfigurationError
            `workers` is below 1, a count is below 0, or there is not one count per key.
        """
        check_workers(workers)
        items, _ = on_least_loaded(*descending("off-greedy", keys, counts), workers)
        return {"items": np.sort(items, order="key")}

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Return the plan, which all sources share."""
        return merge_places(memories)


class _OfflineGreedyRouter(Router):
    def __init__(self, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self._table = table_of(np.empty(0, dtype=PLACE))

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del times, weights
        from evenkey.groupings.tables import _kernels

        _kernels.look_up(keys, self.workers, self._table, workers)

    def snapshot(self) -> Snapshot:
        return {"items": np.sort(items_of(self._table), order="key")}

    def restore(self, snapshot: Snapshot) -> None:
        if "items" in snapshot:
            items = snapshot["items"].astype(PLACE)
            check_read(sound=within(items["place"], 0, self.workers - 1))
            self._table = table_of(items)

    def memory(self) -> Snapshot:
        plan = self.snapshot()
        return plan if len(plan["items"]) else {}

    def remember(self, memory: Snapshot) -> None:
        self.restore(memory)
