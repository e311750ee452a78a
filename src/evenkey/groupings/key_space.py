"""The generational key space in which dynamic key grouping detects hot keys.

Keys are born in the baby space, and move to the teenage and from there to the old space
while they occur more often than what lies there (DKG paper, section 4.1, algorithms 1 to 3).
Everything here runs once a promotion cycle, so it is plain numpy.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["BABY", "ITEM", "OLD", "TEENAGE", "KeySpace", "moved"]

BABY, TEENAGE, OLD = 0, 1, 2

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
"""A key item: its hash, occurrences, time last seen, time of the last scaling check, place
in order of first sighting, pool size, space."""


@dataclass(frozen=True)
class KeySpace:
    """The sizes and rules of the three spaces.

    Parameters
    ----------
    baby, teenage, old
        Sizes of the spaces, in keys. The baby space is held to its size at cycles only.
    ties_promote
        Whether a key that occurs as often as the one it would replace replaces it: it does
        in the paper (algorithm 3), it does not in the reference implementation.
    idle_eviction
        Keys unseen for longer than this many seconds are dropped.
    """

    baby: int
    teenage: int
    old: int
    ties_promote: bool
    idle_eviction: float

    def cycle(self, items: NDArray[np.void], now: float, *, to_old: bool) -> NDArray[np.void]:
        """Run one cycle of the key space manager.

        Parameters
        ----------
        items
            `ITEM` records, in any order.
        now
            Time of the cycle, seconds.
        to_old
            Whether teenage keys may become old in this cycle.

        Returns
        -------
        NDArray
            The items that are kept, in order of first sighting.
        """
        alive = now - items["seen"] <= self.idle_eviction
        items = _by_weight(self.cut(items if alive.all() else items[alive]))
        baby, teenage, old = (items[items["space"] == space] for space in (BABY, TEENAGE, OLD))
        baby, teenage = self._promote(baby, teenage, self.teenage)
        if to_old:
            teenage, old = self._promote(_by_weight(teenage), old, self.old)
        for space, members in ((BABY, baby), (TEENAGE, teenage), (OLD, old)):
            members["space"] = space
        kept = np.concatenate((baby, teenage, old))
        return kept[np.argsort(kept["order"])]

    def _promote(
        self, source: NDArray[np.void], destination: NDArray[np.void], size: int
    ) -> tuple[NDArray[np.void], NDArray[np.void]]:
        """Move the heaviest of `source` to `destination`, both sorted by weight (algorithm 3).

        Room left in the destination is filled first; without that the loop of algorithm 3
        would never run on an empty space.
        """
        room = max(0, min(size - len(destination), len(source)))
        # Each goes to the head, so the last to come stands first.
        destination = np.concatenate((source[:room][::-1], destination))
        source = source[room:]
        most = min(len(source), len(destination))
        rising = source["count"][:most]
        falling = destination["count"][::-1][:most]
        stays = falling > rising if self.ties_promote else falling >= rising
        swaps = int(np.argmax(stays)) if stays.any() else most
        kept = len(destination) - swaps
        return (
            np.concatenate((source[swaps:], destination[kept:])),
            np.concatenate((source[:swaps], destination[:kept])),
        )

    def cut(self, items: NDArray[np.void]) -> NDArray[np.void]:
        """Hold the baby space to its size by dropping its lightest keys.

        Nearly every key falls out here, so only the few that may stay are copied.
        """
        young = items["space"] == BABY
        surplus = int(young.sum()) - self.baby
        if surplus > 0:
            counts = np.where(young, items["count"], np.iinfo(np.int64).max)
            least = np.partition(counts, surplus)[surplus]
            items = items[counts >= least]
            young = _by_weight(items[items["space"] == BABY])[: self.baby]
            items = np.concatenate((young, items[items["space"] != BABY]))
        return items[np.argsort(items["order"])]

    def merge(self, parts: Sequence[NDArray[np.void]]) -> NDArray[np.void]:
        """Merge the items that several sources hold into what all of them go on with.

        Counts stay at the scale of one source: the mean over the sources, rounded up. A key
        takes the highest space and the largest pool that any source gave it; spaces that
        overflow hand their lightest keys down.
        """
        every = np.concatenate(parts)
        keys, place = np.unique(every["key"], return_inverse=True)
        merged = np.zeros(len(keys), dtype=ITEM)
        merged["key"] = keys
        merged["seen"] = merged["checked"] = -np.inf
        merged["order"] = np.iinfo(np.int64).max
        np.add.at(merged["count"], place, every["count"])
        merged["count"] = -(-merged["count"] // len(parts))
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
    """Give the items with their times moved by so many seconds; a key never checked stays so."""
    items = items.copy()
    items["seen"] += by
    items["checked"] += by
    return items


def _by_weight(items: NDArray[np.void]) -> NDArray[np.void]:
    """Sort by occurrences, most first; of equals the one seen first comes first."""
    return items[np.lexsort((items["key"], items["order"], -items["count"]))]
