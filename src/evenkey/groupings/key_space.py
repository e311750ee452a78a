"""The generational key space in which dynamic key grouping detects hot keys.

A new key starts in the baby space. It is promoted to the teenage space and from there to the old
space if it occurs more often than the keys there (DKG paper, section 4.1, algorithms 1 to 3).
Everything here runs only once per promotion cycle, so plain numpy is fast enough.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

DEPARTED, BABY, TEENAGE, OLD = -1, 0, 1, 2

ITEM = np.dtype(
    [
        ("key", np.uint64),
        ("count", np.int64),
        ("seen", np.float64),
        ("checked", np.float64),
        ("order", np.int64),
        ("pool", np.int32),
        ("space", np.int8),
    ],
    align=True,
)
"""What is known of a key: hash, occurrences, time last seen, time of the last scaling check, rank
in ties, pool size, space. A departed key is in none of the spaces: only its pool is kept, in case
the key returns."""


@dataclass(frozen=True)
class KeySpace:
    """The sizes and rules of the three spaces.

    Parameters
    ----------
    baby, teenage, old
        Sizes of the spaces, in keys. The baby space can exceed its size between cycles.
    as_reference
        How ties are broken. False, as in the paper: a key that occurs as often as one in the next
        space replaces it (algorithm 3), and of equal keys the one seen first comes first. True, as
        in the public implementation: such a key replaces nothing, and equal keys are in the order
        of lists, in which promoted keys are inserted at the head and demoted keys at the end.
    idle_eviction
        Keys unseen for longer than this many seconds are dropped.
    first_pool, kept_pools
        `first_pool` is the number of workers of a new key. `kept_pools` is how many keys that have
        left the spaces keep their larger pools; the keys unseen for longest are forgotten first.
    """

    baby: int
    teenage: int
    old: int
    as_reference: bool
    idle_eviction: float
    first_pool: int = 0
    kept_pools: int = 0

    def cycle(self, items: NDArray[np.void], now: float, *, to_old: bool) -> NDArray[np.void]:
        """Run one cycle of the key space manager.

        Parameters
        ----------
        items
            `ITEM` records, in any order.
        now
            Time of the cycle, seconds.
        to_old
            Whether teenage keys can become old in this cycle.

        Returns
        -------
        NDArray
            The remaining items: keys in the spaces, by ``order``, then departed keys.
        """
        alive = now - items["seen"] <= self.idle_eviction
        if self.kept_pools:
            alive &= items["space"] != DEPARTED
        staying = _by_weight(self._cut(items if alive.all() else items[alive]))
        baby, teenage, old = (staying[staying["space"] == each] for each in (BABY, TEENAGE, OLD))
        baby, teenage = self._promote(baby, teenage, self.teenage)
        if to_old:
            teenage, old = self._promote(_by_weight(teenage), old, self.old)
        for space, members in ((BABY, baby), (TEENAGE, teenage), (OLD, old)):
            members["space"] = space
        kept = np.concatenate((baby, teenage, old))
        return self._with_departed(kept[np.argsort(kept["order"], kind="stable")], items)

    def _promote(
        self, source: NDArray[np.void], destination: NDArray[np.void], size: int
    ) -> tuple[NDArray[np.void], NDArray[np.void]]:
        """Move the hottest keys of `source` to `destination`, both sorted by weight (algorithm 3).

        Free places in the destination are filled first; otherwise the loop of algorithm 3
        would never run on an empty space.
        """
        free = max(0, min(size - len(destination), len(source)))
        # Each key is inserted at the head, so the last one inserted is first.
        destination = np.concatenate((source[:free][::-1], destination))
        source = source[free:]
        most = min(len(source), len(destination))
        rising = source["count"][:most]
        falling = destination["count"][::-1][:most]
        stays = falling >= rising if self.as_reference else falling > rising
        swaps = int(np.argmax(stays)) if stays.any() else most
        kept = len(destination) - swaps
        # The coldest key is demoted first. The last key that is promoted is at the head.
        lower = np.concatenate((source[swaps:], destination[kept:][::-1]))
        upper = np.concatenate((source[:swaps][::-1], destination[:kept]))
        if self.as_reference:
            for members in (lower, upper):
                members["order"] = np.arange(len(members))
        return lower, upper

    def cut(self, items: NDArray[np.void]) -> NDArray[np.void]:
        """Drop keys until the baby space and the pools of departed keys are within their limits.

        A departed key has left the key spaces; its pool of workers is kept.

        Parameters
        ----------
        items
            `ITEM` records, in any order.

        Returns
        -------
        NDArray
            The remaining items: keys in the spaces, by ``order``, then departed keys.
        """
        here = items[items["space"] != DEPARTED] if self.kept_pools else items
        return self._with_departed(self._cut(here), items)

    def _with_departed(self, kept: NDArray[np.void], before: NDArray[np.void]) -> NDArray[np.void]:
        """Add the keys of `before` that are no longer in `kept` but whose pools are to be kept."""
        if not self.kept_pools:
            return kept
        grown = before[before["pool"] > self.first_pool]
        departed = grown[~np.isin(grown["key"], kept["key"])]
        latest = np.lexsort((departed["key"], -departed["seen"]))[: self.kept_pools]
        departed = departed[latest]
        departed["space"] = DEPARTED
        departed["count"] = 1  # Restarts if the key returns; 0 marks a free slot of a table.
        return np.concatenate((kept, departed))

    def _cut(self, items: NDArray[np.void]) -> NDArray[np.void]:
        # Nearly every key is dropped here, so only the few that may stay are copied.
        young = items["space"] == BABY
        surplus = int(young.sum()) - self.baby
        if surplus == len(items):
            return items[:0]
        if surplus > 0:
            counts = np.where(young, items["count"], np.iinfo(np.int64).max)
            least = np.partition(counts, surplus)[surplus]
            items = items[counts >= least]
            young = _by_weight(items[items["space"] == BABY])[: self.baby]
            items = np.concatenate((young, items[items["space"] != BABY]))
        return items[np.argsort(items["order"], kind="stable")]

    def merge(self, parts: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
        """Merge the items of several sources into the items that all of them continue with.

        The count of a key is its mean over the sources, rounded up. A key gets the highest space
        and the largest pool that it has in any source. A space that overflows passes its coldest
        keys to the space below. A key has departed if it has departed in all sources.
        """
        every = np.concatenate(parts)
        keys, place = np.unique(every["key"], return_inverse=True)
        merged = np.zeros(len(keys), dtype=ITEM)
        merged["key"] = keys
        merged["seen"] = merged["checked"] = -np.inf
        merged["order"] = np.iinfo(np.int64).max
        merged["space"] = DEPARTED
        np.add.at(merged["count"], place, np.where(every["space"] == DEPARTED, 0, every["count"]))
        merged["count"] = np.maximum(1, -(-merged["count"] // len(parts)))
        for field in ("seen", "checked", "pool", "space"):
            np.maximum.at(merged[field], place, every[field])
        np.minimum.at(merged["order"], place, every["order"])
        merged = _by_weight(merged)
        for space, size in ((OLD, self.old), (TEENAGE, self.teenage)):
            members = np.flatnonzero(merged["space"] == space)
            merged["space"][members[size:]] = space - 1
        merged = self.cut(merged)
        merged["order"] = np.arange(len(merged))
        return merged


def moved(items: NDArray[np.void], by: float) -> NDArray[np.void]:
    """Return the items with their times shifted by `by` seconds; "never checked" stays so."""
    items = items.copy()
    items["seen"] += by
    items["checked"] += by
    return items


def _by_weight(items: NDArray[np.void]) -> NDArray[np.void]:
    """Sort items by occurrences, most first; in ties, the key seen first comes first."""
    return items[np.lexsort((items["key"], items["order"], -items["count"]))]
