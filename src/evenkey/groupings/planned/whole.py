"""Plans that split no key: by descending load, each key goes to the least loaded worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.checking import check_workers
from evenkey.groupings.greedy import heaviest_first
from evenkey.groupings.planned.plan import Plan, unplanned

if TYPE_CHECKING:
    from numpy.typing import NDArray


def whole_plan(
    keys: NDArray[np.uint64],
    counts: NDArray[np.float64],
    bucket_counts: NDArray[np.float64],
    workers: int,
) -> Plan:
    """Place whole keys and buckets in descending order of load, each on the least loaded worker.

    Guarantee: the maximum load is at most 4/3 of the maximum load in the best placement of these
    keys and buckets (R. L. Graham, SIAM Journal on Applied Mathematics 17, 1969). A key that has
    more than a fair share of the load is alone on its worker.

    Parameters
    ----------
    keys
        uint64[k], hashes of distinct keys, which include at least the hot keys.
    counts
        float64[k], load of each key (number of rows, or total cost); at least 0.
    bucket_counts
        float64[B], load of each bucket, without the load of `keys`; B is a power of two.
    workers
        Number of workers, W.

    Raises
    ------
    ConfigurationError
        `workers` is below 1.

    Examples
    --------
    >>> plan = whole_plan(
    ...     np.array([16, 17], dtype=np.uint64), np.array([48.0, 8.0]), np.ones(8), workers=4
    ... )
    >>> plan.loads.tolist(), plan.extra_pairs
    ([48.0, 8.0, 4.0, 4.0], 0)
    """
    check_workers(workers)
    loads = np.concatenate((counts, bucket_counts))
    if not loads.any():
        return unplanned(len(bucket_counts), workers)
    # Items without load go to the workers in turn, because keys in them may come later.
    placed = (np.arange(len(loads)) % workers).astype(np.int32)
    some = loads > 0
    placed[some], _ = heaviest_first(loads[some], workers)
    owners = placed[len(keys) :]
    ascending = np.argsort(keys)
    keys, chosen = keys[ascending], placed[: len(keys)][ascending]
    buckets = (keys & np.uint64(len(owners) - 1)).astype(np.int64)
    # A key that is on the worker of its bucket needs no entry of its own.
    own = chosen != owners[buckets]
    return Plan(
        owners=owners,
        keys=keys[own],
        starts=np.arange(own.sum() + 1, dtype=np.int64),
        places=chosen[own],
        shares=np.ones(own.sum()),
        loads=np.bincount(placed, loads, minlength=workers).astype(np.float64),
    )
