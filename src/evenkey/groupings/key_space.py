"""The generational key space in which dynamic key grouping detects hot keys.

A new key starts in the baby space. If it occurs more often than keys in the teenage space, it is
promoted to the teenage space, and from there in the same way to the old space (DKG paper, section
4.1, algorithms 1 to 3). The code in this module runs only once per promotion cycle, so plain numpy
is fast enough.
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
"""Record of a key: its hash, number of occurrences, time when it was last seen, time of its last
scaling check, rank among keys with equal counts, number of workers in its pool, and space. A
departed key is in none of the spaces. Only the size of its pool is kept, in case the key
returns."""


@dataclass(frozen=True)
class KeySpace:
    """The sizes and rules of the three spaces.

    Parameters
    ----------
    baby, teenage, old
        Sizes of the spaces, in keys. Between two cycles, the baby space can exceed its size.
    as_reference
        How ties are broken. False, as in the paper: a key that occurs as often as a key of the next
        space replaces that key (algorithm 3). Of keys with equal counts, the one seen first comes
        first. True, as in the public implementation: a key that occurs as often as a key of the
        next space does not replace that key. Keys with equal counts are in the order of the
        implementation's lists: promoted keys are inserted at the head of a list, demoted keys at
        its end.
    idle_eviction
        A key that was not seen for more than this number of seconds is dropped.
    first_pool, kept_pools
        `first_pool` is the number of workers in the pool of a new key. `kept_pools` is the maximum
        number of departed keys (keys that have left all spaces) whose pools are remembered. Only
        pools larger than `first_pool` are remembered. The keys that were last seen longest ago are
        forgotten first.
    """

    baby: int
    teenage: int
    old: int
    as_reference: bool
    idle_eviction: float
    first_pool: int = 0
    kept_pools: int = 0

    def cycle(self, items: NDArray[np.void], now: float, *, to_old: bool) -> NDArray[np.void]:
        """Run one promotion cycle, as the paper's key space manager does.

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
            The remaining items: first the keys in the spaces, by ``order``, then departed keys.
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
        """Move the hottest keys of `source` to `destination`; both are sorted by `_by_weight`.

        This is algorithm 3 with one addition: free places in the destination are filled first.
        Without it, the loop of algorithm 3 would never run while a space is empty.
        """
        free = max(0, min(size - len(destination), len(source)))
        # Each key is inserted at the head, so the key that is inserted last comes first.
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

        A departed key has left all spaces; only the size of its pool of workers is kept.

        Parameters
        ----------
        items
            `ITEM` records, in any order.

        Returns
        -------
        NDArray
            The remaining items: first the keys in the spaces, by ``order``, then departed keys.
        """
        here = items[items["space"] != DEPARTED] if self.kept_pools else items
        return self._with_departed(self._cut(here), items)

    def _with_departed(self, kept: NDArray[np.void], before: NDArray[np.void]) -> NDArray[np.void]:
        """Add departed keys: those in `before` but not in `kept` whose pools are remembered."""
        if not self.kept_pools:
            return kept
        grown = before[before["pool"] > self.first_pool]
        departed = grown[~np.isin(grown["key"], kept["key"])]
        latest = np.lexsort((departed["key"], -departed["seen"]))[: self.kept_pools]
        departed = departed[latest]
        departed["space"] = DEPARTED
        departed["count"] = 1  # A key that returns starts anew; 0 marks a free slot.
        return np.concatenate((kept, departed))

    def _cut(self, items: NDArray[np.void]) -> NDArray[np.void]:
        # Nearly all keys are dropped here, so copy only the few that may stay.
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
        """Merge the items of several sources into one set, with which all sources continue.

        The merged count of a key is the mean of its counts over all sources, rounded up. A key gets
        the highest space and the largest pool that it has in any source. If a space then has too
        many keys, its coldest keys move to the space below. A key counts as departed only if it is
        in none of the spaces of any source.
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
    """Return the items with all times shifted by `by` seconds; -inf (never checked) stays -inf."""
    items = items.copy()
    items["seen"] += by
    items["checked"] += by
    return items


def _by_weight(items: NDArray[np.void]) -> NDArray[np.void]:
    """Sort items by descending count; ties by ``order``, then by hash."""
    return items[np.lexsort((items["key"], items["order"], -items["count"]))]
