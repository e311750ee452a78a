"""The routing table, which stores the place of each key, and the merge of the sources' tables."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING

import numpy as np

from evenkey.groupings.base import LocalLoadRouter, Snapshot
from evenkey.groupings.tables.key_table import check_read, items_of, table_of, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

PLACE = np.dtype([("key", np.uint64), ("count", np.int64), ("place", np.int32)], align=True)
"""Entry of a key in a routing table. The fields are the hash of the key, the sum of the weights of
its messages in this source, and its place. A place is the number of a worker, or a number whose
meaning the grouping defines."""


class TableRouter(LocalLoadRouter):
    """A router that keeps an entry of 48 to 96 bytes for every key, and never drops an entry."""

    _table: NDArray[np.void]
    _held: NDArray[np.int64]

    def __init__(self, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self._most_place = workers - 1
        self._hold(np.empty(0, dtype=PLACE))

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del times
        done = 0
        while True:
            done = self._route_from(done, keys, weights, workers)
            if done == len(keys):
                return
            self._table = table_of(items_of(self._table))

    @abstractmethod
    def _route_from(
        self,
        start: int,
        keys: NDArray[np.uint64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> int:
        """Route from message `start` on; return the index of the first message not routed yet.

        Some messages remain if the table is half full: the caller must then enlarge it.
        """

    def _hold(self, items: NDArray[np.void]) -> None:
        """Replace the table with the entries of a snapshot or memory."""
        check_read(sound=within(items["place"], 0, self._most_place))
        self._table = table_of(items)
        self._held = np.array([len(items)], dtype=np.int64)

    def snapshot(self) -> Snapshot:
        """Return a copy of the whole state."""
        return {**super().snapshot(), "items": np.sort(items_of(self._table), order="key")}

    def restore(self, snapshot: Snapshot) -> None:
        """Continue from a snapshot."""
        super().restore(snapshot)
        if "items" in snapshot:
            self._hold(snapshot["items"].astype(PLACE))

    def memory(self) -> Snapshot:
        """Return the routing table, from which later epochs start; empty if it has no keys."""
        items = np.sort(items_of(self._table), order="key")
        return {"items": items} if len(items) else {}

    def remember(self, memory: Snapshot) -> None:
        """Start from the merged routing table of earlier epochs, if there is one."""
        if memory:
            self._hold(memory["items"].astype(PLACE))


class FirstSightRouter(TableRouter):
    """A router that chooses the worker of each key once, at the first message of the key.

    Parameters
    ----------
    everywhere
        True: a key can go to any worker. False: a key can go only to one of its two candidates.
    """

    def __init__(self, workers: int, source: int, *, everywhere: bool) -> None:
        super().__init__(workers, source)
        self._everywhere = everywhere

    def _route_from(
        self,
        start: int,
        keys: NDArray[np.uint64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> int:
        from evenkey.groupings.tables import _kernels

        done: int = _kernels.first_sight(
            keys, weights, start, self._held, self._table, self._everywhere, self.sent, workers
        )
        return done


def merge_places(memories: Sequence[Snapshot], *, all_of_them: bool = False) -> Snapshot:
    """Merge the routing tables of several sources into one table, with which all sources continue.

    Parameters
    ----------
    memories
        `TableRouter.memory` of each source.
    all_of_them
        True: places are bit sets, and a key gets the bits of all sources. False: a key gets the
        place to which most of its messages went, in ties the lowest.

    Returns
    -------
    Snapshot
        The entries of all keys, each with a count of 1. Old counts are no longer needed, because
        all sources now agree on the places of these keys. In the next epoch, sources can choose
        different places only for new keys.
    """
    parts = [memory["items"] for memory in memories if memory]
    if not parts:
        return {}
    every = np.concatenate(parts)
    keys, index = np.unique(every["key"], return_inverse=True)
    merged = np.zeros(len(keys), dtype=PLACE)
    merged["key"], merged["count"] = keys, 1
    if all_of_them:
        np.bitwise_or.at(merged["place"], index, every["place"])
        return {"items": merged}
    pairs, pair_of = np.unique(
        np.stack((index, every["place"].astype(np.int64))), axis=1, return_inverse=True
    )
    weights = np.bincount(pair_of.ravel(), every["count"])
    order = np.lexsort((pairs[1], -weights, pairs[0]))
    _, first = np.unique(pairs[0][order], return_index=True)
    merged["place"] = pairs[1][order][first]
    return {"items": merged}
