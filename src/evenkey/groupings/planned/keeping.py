"""Plans that stay: items leave their workers only if a worker has too much load."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from evenkey.groupings.planned.filling import Pieces, fill

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.groupings.planned.filling import Before, Limits


def keep(loads: NDArray[np.float64], before: Before, limits: Limits) -> Pieces:
    """Place items where the previous plan had them, and move the fewest that balance needs.

    If no worker exceeds its limit, nothing changes, not even the shares of split keys. Otherwise a
    worker whose whole items, those on one worker only, exceed its limit loses some of them: the
    key with the least load that is enough, or else its hottest key and then further ones. It loses
    buckets only after all its keys. These items are placed first, in descending order of load.
    Split keys then fill the remaining capacity in ascending order of load, because the hottest keys
    have most workers to choose from. `fill` places both.

    Parameters
    ----------
    loads
        float64[n], load of each item, at least 0. The first ``len(before.rows)`` items are keys,
        all others are buckets.
    before
        The workers of the items in the previous plan.
    limits
        How much load each worker can take.
    """
    homes, split = _homes(before)
    whole, parts = np.flatnonzero(~split), _split_as_before(np.flatnonzero(split), loads, before)
    same = Pieces(
        np.concatenate((whole, parts.items)),
        np.concatenate((homes[whole], parts.workers)),
        np.concatenate((loads[whole], parts.loads)),
        parts.moved,
    )
    total = np.bincount(same.workers, same.loads, minlength=len(limits.remaining))
    if (total <= limits.remaining + limits.extra).all():
        return same
    stays = ~split
    held = np.bincount(homes[stays], loads[stays], minlength=len(limits.remaining))
    excess = held - limits.remaining - limits.extra
    for worker in np.flatnonzero(excess > 0):
        mine = np.flatnonzero(~split & (homes == worker))
        stays[_leaving(mine, loads, float(excess[worker]), len(before.rows))] = False
    order = np.argsort(-loads, kind="stable")
    order = np.concatenate((order[~(stays | split)[order]], order[split[order]][::-1]))
    taken = np.bincount(homes[stays], loads[stays], minlength=len(limits.remaining))
    rest = fill(order, loads, before, replace(limits, remaining=limits.remaining - taken))
    kept = np.flatnonzero(stays)
    return Pieces(
        np.concatenate((kept, rest.items)),
        np.concatenate((homes[kept], rest.workers)),
        np.concatenate((loads[kept], rest.loads)),
        rest.moved,
    )


def _homes(before: Before) -> tuple[NDArray[np.int32], NDArray[np.bool_]]:
    """Return the first worker of each item, int32[n], and whether it has several, bool[n]."""
    homes, split = before.homes.copy(), np.zeros(len(before.homes), dtype=bool)
    own = np.flatnonzero(before.rows >= 0)
    rows = before.rows[own]
    homes[own] = before.places[before.starts[rows]]
    split[own] = np.diff(before.starts)[rows] > 1
    return homes, split


def _split_as_before(
    split: NDArray[np.int64], loads: NDArray[np.float64], before: Before
) -> Pieces:
    """Return the pieces of split keys by their previous shares."""
    rows = before.rows[split]
    lengths = np.diff(before.starts)[rows] if len(rows) else rows
    ends = np.cumsum(lengths)
    entries = np.arange(lengths.sum()) - np.repeat(ends - lengths - before.starts[rows], lengths)
    items = np.repeat(split, lengths)
    parts = loads[items] * before.shares[entries]
    return Pieces(items, before.places[entries], parts, np.zeros(len(loads), dtype=bool))


def _leaving(
    items: NDArray[np.int64], loads: NDArray[np.float64], excess: float, keys: int
) -> list[int]:
    """Choose the fewest items whose load is at least `excess`, buckets after all keys."""
    chosen: list[int] = []
    for kind in (items[items < keys], items[items >= keys]):
        ascending = kind[np.argsort(loads[kind], kind="stable")]
        last = len(ascending)
        while excess > 0 and last:
            last = min(int(np.searchsorted(loads[ascending[:last]], excess)), last - 1)
            chosen.append(int(ascending[last]))
            excess -= float(loads[ascending[last]])
    return chosen
