"""Partitions of hot keys: a key with much load has a partition of its own while it is hot.

Keys that are hashed to one partition cannot be divided among workers. A hot key leaves the others,
so that no two hot keys are on one worker because of their hashes.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenkey.spark.states.state_plan import SlotWork, StatePlan

HOT = 0.5
"""A key gets a partition of its own if its load is more than this share of a worker's mean load."""
COLD = 0.25
"""It goes back to the partition of its hash if its load is less than this share."""


def received(plan: StatePlan, records: Sequence[SlotWork]) -> NDArray[np.float64]:
    """Return the number of rows that the slot of each partition got in an epoch, float64[n]."""
    rows = np.zeros(len(plan.owners))
    for record in records:
        for partition, work in record.work.items():
            rows[partition] += work.received
    return rows


def loads_of_keys(
    plan: StatePlan, records: Sequence[SlotWork], measured: NDArray[np.float64]
) -> dict[int, float]:
    """Return loads, since partitions were last considered, of keys with most rows, by their hashes.

    The load of a partition in an epoch is divided among its keys by their numbers of rows. A key
    with a partition of its own has the load of this partition.

    Parameters
    ----------
    plan
        Plan of an epoch.
    records
        Records of the epoch.
    measured
        Load of each partition in the epoch, float64[n].
    """
    of_a_row = measured / np.maximum(received(plan, records), 1)
    own, loads = plan.own_partitions, dict(plan.of_keys)
    shared = [pair for record in records for pair in record.hottest if pair[0] not in own]
    partitions = plan.partitions_of(np.array([key for key, _ in shared], dtype=np.int64))
    found = {key: measured[partition] for key, partition in own.items()}
    for (key, count), partition in zip(shared, partitions.tolist(), strict=True):
        found[key] = of_a_row[partition] * count
    for key, load in found.items():
        loads[key] = loads.get(key, 0.0) + float(load)
    return loads


def chosen(
    own: Sequence[int | None], loads: Mapping[int, float], mean: float
) -> tuple[int | None, ...]:
    """Choose the keys that have partitions of their own.

    As loads add up to the workers' loads, at most 4 keys per worker have such a partition.

    Parameters
    ----------
    own
        The hash of the key of each such partition until now; None: the partition is not used.
    loads
        Loads of keys by their hashes, at least of all hot ones.
    mean
        Mean load of a worker.

    Returns
    -------
    tuple
        As `own`. A key that stays hot keeps its partition. A partition that is given up stays
        unused in this epoch, because the states in it are still read.

    Examples
    --------
    Key 7 has become cold, and key 9 hot.

    >>> chosen((7, 8), {7: 1.0, 8: 3.0, 9: 6.0}, 10.0)
    (None, 8, 9)
    >>> chosen((None, 8, 9, None), {8: 3.0, 9: 6.0, 5: 7.0}, 10.0)
    (5, 8, 9)
    """
    kept = {key for key in own if key is not None and loads.get(key, -1.0) >= COLD * mean}
    waiting = sorted({key for key, load in loads.items() if load > HOT * mean} - kept)
    last = max((at for at, key in enumerate(own) if key is not None), default=-1)
    found: list[int | None] = []
    for key in own[: last + 1]:
        if key is None and waiting:
            found.append(waiting.pop(0))
        else:
            found.append(key if key in kept else None)
    return (*found, *waiting)


def regrouped(
    plan: StatePlan,
    own: tuple[int | None, ...],
    of_keys: Mapping[int, float],
    loads: NDArray[np.float64],
) -> tuple[StatePlan, NDArray[np.float64]]:
    """Return a plan in which other keys have partitions of their own, and its loads.

    Parameters
    ----------
    plan
        Plan whose states are all in the partitions that it names.
    own
        As `chosen` returns it.
    of_keys
        Loads of keys by their hashes.
    loads
        Load of each partition of `plan`, float64[n].

    Returns
    -------
    tuple
        The plan, and the loads of its partitions, float64[n]. Each new partition is on the slot of
        the partition in which the states of its key still are.
    """
    hashed, before = plan.hashed, plan.own_partitions
    count = hashed + len(own)
    added = max(count - len(plan.owners), 0)
    following = replace(
        plan,
        own=own,
        owners=(*plan.owners, *[0] * added)[:count],
        heads=(*plan.heads, *[None] * added)[:count],
        sizes=(*plan.sizes, *[0] * added)[:count],
        timers=(*plan.timers, *[None] * added)[:count],
    )
    after = following.own_partitions
    owners, sizes = [*following.owners], [*following.sizes]
    shifted = np.concatenate((loads, np.zeros(added)))[:count]
    moves = []
    for key in sorted({*before} ^ {*after}):
        source, target = (each.get(key, key % hashed) for each in (before, after))
        load = min(of_keys.get(key, 0.0), loads[source]) if key in after else loads[source]
        shifted[source] -= load
        shifted[target] += load
        if key in after:
            owners[target], sizes[target] = owners[source], sizes[source]
        moves.append((key, source, target))
    unused = {*following.unused}
    timers = [None if at in unused else time for at, time in enumerate(following.timers)]
    following = replace(
        following,
        owners=tuple(owners),
        sizes=tuple(sizes),
        timers=tuple(timers),
        regrouped=tuple(moves),
    )
    return following, shifted
