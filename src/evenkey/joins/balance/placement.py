"""Placement: the slot of each partition, or the slots that share its rows."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.planners import load_per_location
from evenkey.groupings import Plan, make_plan

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from numpy.typing import NDArray

_STAYS = 0.05
"""How far above its fair load a slot may be filled with partitions that are already on it. It is
above 0 because each move has a cost. The greedy planner, which only moves partitions, stops at 0.15
(`evenkey.core.planners.GOOD_ENOUGH`)."""


@dataclass(frozen=True)
class Placement:
    """The slots of the partitions of a join.

    Parameters
    ----------
    owners
        Slot of each partition; for a copied partition, one of its slots.
    copies
        Slots of each copied partition, and the share of the partition's rows that each slot gets.
        The shares of a partition add up to 1.

    Examples
    --------
    >>> before = Placement((0, 1, 2, 3, 0, 1, 2, 3))
    >>> loads = np.array([80.0, 10.0, 10.0, 10.0, 10.0, 10.0, 10.0, 20.0])
    >>> after = divided(before, loads, workers=4)
    >>> {slot: round(share, 2) for slot, share in after.copies[0].items()}
    {0: 0.5, 1: 0.5}
    >>> after.loads(loads, workers=4).round(1).tolist()
    [40.2, 39.8, 40.0, 40.0]
    """

    owners: tuple[int, ...]
    copies: Mapping[int, Mapping[int, float]] = field(default_factory=dict)

    def slots(self, partition: int) -> Collection[int]:
        """Return the slots of a partition."""
        return self.copies.get(partition, {self.owners[partition]: 1.0}).keys()

    def loads(self, loads: NDArray[np.float64], workers: int) -> NDArray[np.float64]:
        """Compute the load of each slot, float64[W], from the loads of partitions, float64[P]."""
        copied = list(self.copies)
        alone = np.array(loads, dtype=np.float64)
        alone[copied] = 0
        total = load_per_location(np.array(self.owners, dtype=np.int32), alone, workers)
        for partition in copied:
            for slot, share in self.copies[partition].items():
                total[slot] += share * loads[partition]
        return total

    def came(self, before: Placement) -> tuple[int, ...]:
        """Return the partitions that are on a slot on which they were not in `before`.

        A partition is listed once for each such slot, because each such slot loads the partition.
        """
        return tuple(
            partition
            for partition in range(len(self.owners))
            for _ in {*self.slots(partition)} - {*before.slots(partition)}
        )


def divided(before: Placement, loads: NDArray[np.float64], workers: int) -> Placement:
    """Copy each partition with more than a slot's fair load to as many slots as its load needs.

    All other partitions fill the remaining capacity. A partition stays on its slot if it fits
    there, as a key does in planned grouping (`evenkey.groupings.make_plan`). There are at most
    W - 1 copies. The load of each slot is at most 1.055 times its fair load, plus the load of the
    most loaded partition that is not copied.

    Parameters
    ----------
    before
        The placement of all partitions so far.
    loads
        float64[P], load of each partition, at least 0.
    workers
        Number of slots, W.
    """
    partitions = len(loads)
    heavy = np.flatnonzero(loads > loads.sum() / workers)
    others = np.zeros(1 << (partitions - 1).bit_length())
    others[:partitions] = loads
    others[heavy] = 0
    plan = make_plan(
        heavy.astype(np.uint64),
        loads[heavy],
        others,
        np.ones(workers),
        _as_plan(before, len(others), workers),
        stickiness=_STAYS,
        compact=True,
    )
    owners, copies = plan.owners[:partitions].tolist(), {}
    for row, partition in enumerate(plan.keys.tolist()):
        shares: dict[int, float] = {}
        for piece in range(plan.starts[row], plan.starts[row + 1]):
            slot = int(plan.places[piece])
            shares[slot] = shares.get(slot, 0.0) + float(plan.shares[piece])
        if owners[partition] not in shares:
            owners[partition] = max(shares, key=lambda slot: shares[slot])
        if len(shares) > 1:
            # Keep the order in which slots were filled, so that the next plan keeps it too.
            copies[partition] = shares
    return Placement(tuple(owners), copies)


def _as_plan(placement: Placement, buckets: int, workers: int) -> Plan:
    """Convert a placement to a `Plan`: partitions become buckets, copied ones also become keys."""
    owners = np.zeros(buckets, dtype=np.int32)
    owners[: len(placement.owners)] = placement.owners
    keys = sorted(placement.copies)
    lengths = [len(placement.copies[key]) for key in keys]
    return Plan(
        owners=owners,
        keys=np.array(keys, dtype=np.uint64),
        starts=np.concatenate(([0], np.cumsum(lengths))).astype(np.int64),
        places=np.array([slot for key in keys for slot in placement.copies[key]], dtype=np.int32),
        shares=np.array([share for key in keys for share in placement.copies[key].values()]),
        loads=np.zeros(workers),
    )
