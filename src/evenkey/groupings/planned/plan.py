"""Plans: the worker or workers of each key, computed from the load of each key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.groupings.planned.filling import Before, Limits, Pieces, fill
from evenkey.groupings.planned.keeping import keep
from evenkey.groupings.tables.key_table import check_read

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.groupings.base import Snapshot

_MORE_KEYS = 0.02
_ARRAYS = ("owners", "keys", "starts", "places", "shares", "loads")


@dataclass(frozen=True, eq=False)
class Plan:
    """The placement of all keys: a key goes to the owner of its bucket, or has its own workers.

    The bucket of a key is ``H(key) mod B`` with B = ``len(owners)``, a power of two. Key
    number i of `keys` goes to ``places[starts[i]:starts[i + 1]]`` in the proportions
    ``shares[starts[i]:starts[i + 1]]``, which add up to 1.

    Parameters
    ----------
    owners
        int32[B], the worker that owns each bucket.
    keys
        uint64[p], hashes of the keys that have their own workers, ascending.
    starts
        int64[p + 1], where the entries of each key start in `places` and `shares`.
    places
        int32[q], workers of the keys in `keys`, one entry per (worker, key) pair.
    shares
        float64[q], share of the key's messages that goes to each worker in `places`.
    loads
        float64[W], load of each worker under the plan.
    moved_keys
        Number of keys, of those passed to `make_plan`, that are on a worker that did not have them
        in the previous plan.
    moved_buckets
        Number of buckets that changed their owner.
    """

    owners: NDArray[np.int32]
    keys: NDArray[np.uint64]
    starts: NDArray[np.int64]
    places: NDArray[np.int32]
    shares: NDArray[np.float64]
    loads: NDArray[np.float64]
    moved_keys: int = 0
    moved_buckets: int = 0

    @property
    def workers(self) -> int:
        """Number of workers."""
        return len(self.loads)

    @property
    def extra_pairs(self) -> int:
        """Number of (worker, key) pairs beyond one per key, at most W - 1."""
        return len(self.places) - len(self.keys)

    def spread_of(self, key: np.uint64) -> int:
        """Return the number of workers over which a key is spread; `key` is its hash."""
        (row,) = _rows(np.array([key], np.uint64), self.keys).tolist()
        if row < 0:
            return 1
        return len(np.unique(self.places[self.starts[row] : self.starts[row + 1]]))

    def loads_of(
        self,
        keys: NDArray[np.uint64],
        counts: NDArray[np.float64],
        bucket_counts: NDArray[np.float64],
    ) -> NDArray[np.float64]:
        """Compute the loads of workers under the plan, float64[W]; arguments as in `make_plan`."""
        buckets = (keys & np.uint64(len(self.owners) - 1)).astype(np.int64)
        rows = _rows(keys, self.keys)
        whole = rows < 0
        loads = np.zeros(self.workers)
        loads += np.bincount(self.owners, bucket_counts, minlength=self.workers)
        loads += np.bincount(self.owners[buckets[whole]], counts[whole], minlength=self.workers)
        own = np.zeros(len(self.keys))
        own[rows[~whole]] = counts[~whole]
        parts = np.repeat(own, np.diff(self.starts)) * self.shares
        loads += np.bincount(self.places, parts, minlength=self.workers)
        return loads

    def to_arrays(self) -> Snapshot:
        """Return the plan as named arrays."""
        moved = np.array([self.moved_keys, self.moved_buckets], dtype=np.int64)
        return {"moved": moved, **{name: getattr(self, name) for name in _ARRAYS}}

    @classmethod
    def from_arrays(
        cls, arrays: Snapshot, workers: int | None = None, buckets: int | None = None
    ) -> Plan:
        """Restore a plan from the arrays of `to_arrays`; all other arrays are ignored.

        Parameters
        ----------
        arrays
            The arrays.
        workers, buckets
            Numbers of workers and buckets that the plan must have; None: any number.

        Raises
        ------
        RunError
            The arrays are not a valid plan for these numbers. Kernels do not check array bounds,
            so this method checks them.
        """
        moved_keys, moved_buckets = arrays["moved"].tolist()
        own: dict[str, NDArray[Any]] = {name: arrays[name] for name in _ARRAYS}
        _check(own, workers, buckets)
        return cls(**own, moved_keys=moved_keys, moved_buckets=moved_buckets)


def _check(arrays: dict[str, NDArray[Any]], workers: int | None, buckets: int | None) -> None:
    """Raise an error if the arrays of a plan do not fit together or have numbers out of range."""
    owners, keys, starts, places, shares, loads = (arrays[name] for name in _ARRAYS)
    sound = (
        all(each.ndim == 1 for each in arrays.values())
        and (workers is None or len(loads) == workers)
        and (buckets is None or len(owners) == buckets)
        and len(owners) > 0
        and len(owners) & (len(owners) - 1) == 0
        and len(starts) == len(keys) + 1
        and keys.dtype == np.uint64
        and len(shares) == len(places)
        and bool(((shares >= 0) & (shares <= 1)).all())
        and starts[0] == 0
        and starts[-1] == len(places)
        and bool((np.diff(starts) > 0).all())
        and all(
            each.dtype.kind == "i" and bool(((each >= 0) & (each < len(loads))).all())
            for each in (owners, places)
        )
    )
    check_read(sound=sound)


def unplanned(buckets: int, workers: int) -> Plan:
    """Make the initial plan, in which buckets are assigned to the workers in turn.

    Examples
    --------
    >>> unplanned(buckets=8, workers=3).owners.tolist()
    [0, 1, 2, 0, 1, 2, 0, 1]
    """
    return Plan(
        owners=(np.arange(buckets) % workers).astype(np.int32),
        keys=np.empty(0, dtype=np.uint64),
        starts=np.zeros(1, dtype=np.int64),
        places=np.empty(0, dtype=np.int32),
        shares=np.empty(0),
        loads=np.zeros(workers),
    )


def make_plan(
    keys: NDArray[np.uint64],
    counts: NDArray[np.float64],
    bucket_counts: NDArray[np.float64],
    capacities: NDArray[np.float64],
    previous: Plan | None = None,
    *,
    tolerance: float = 0.005,
    stickiness: float = 0.005,
    bucket_keys: NDArray[np.float64] | None = None,
    compact: bool = False,
) -> Plan:
    """Place keys and buckets on workers, so that all loads are proportional to the capacities.

    Items are keys and buckets. Without a previous plan, they are placed in descending order of
    load. An item stays on its worker in `unplanned` if the load of this worker then is at most
    ``(1 + tolerance + stickiness)`` times its fair load. Otherwise the item goes to the worker with
    most capacity left, if the load of this worker then is at most ``(1 + tolerance)`` times its
    fair load. A key that fits on no worker is split: it fills workers one after the other, first
    its workers of the previous plan, until the rest of the key fits on one worker. A bucket is
    never split.

    With a previous plan, all items stay, with their shares, if no worker then exceeds
    ``(1 + tolerance + stickiness)`` times its fair load. Otherwise an item stays unless the items
    that are on its worker alone exceed this load. Such a worker loses as few keys as possible, and
    buckets only after all its keys. These are placed as above. Split keys then fill the remaining
    capacity in the same way, the hottest keys last. Moving few keys under a bound on balance
    follows B. Gedik (VLDB Journal 23, 2014).

    Guarantees: every split fills a worker, so there are at most W - 1 splits, as in McNaughton's
    wrap-around rule (Management Science 6, 1959). So there are at most W - 1 more (worker, key)
    pairs than keys. The load of each worker is at most ``(1 + tolerance + stickiness)`` times its
    fair load, plus the load of the heaviest bucket.

    Parameters
    ----------
    keys
        uint64[k], hashes of distinct keys, which include at least the hot keys.
    counts
        float64[k], load of each key: number of messages, or total cost.
    bucket_counts
        float64[B], load of each bucket, without the load of `keys`; B is a power of two.
    capacities
        float64[W], above 0; only their proportions count.
    previous
        The previous plan, with the same numbers of buckets and workers; None: `unplanned`.
    tolerance
        How far above its fair load a worker may be filled, as a share of the fair load; at least 0.
    stickiness
        How much more load a worker may have through items that stay on it, as a share of its fair
        load; at least 0.
    bucket_keys
        float64[B], number of distinct keys in each bucket; None: numbers of keys are not balanced.
        If given, buckets are placed first, in descending order of load, each on the worker with
        fewest keys. Hot keys then fill the remaining capacity. A bucket stays on its worker of the
        previous plan if this worker then has at most 1.02 times the mean number of keys. So the
        buckets of a worker hold at most 1.02 times the mean number of keys, or the mean plus the
        keys of the largest bucket if that is more. The load of a worker is within the bound above,
        unless the load of its buckets alone exceeds this bound.
    compact
        Whether to place all items in descending order of load, as without a previous plan. An item
        then stays only if its worker still has capacity. A hot key is on fewer workers, and more
        items move.

    Raises
    ------
    ConfigurationError
        The sizes of arrays do not match each other or the previous plan, or a capacity or load is
        out of range.

    Examples
    --------
    A key with three quarters of the load, a key with one eighth of the load, and eight buckets:

    >>> plan = make_plan(
    ...     np.array([16, 17], dtype=np.uint64), np.array([48.0, 8.0]), np.ones(8), np.ones(4)
    ... )
    >>> plan.keys.tolist(), plan.places.tolist(), plan.shares.round(3).tolist()
    ([16], [0, 1, 2], [0.335, 0.335, 0.33])
    >>> plan.owners.tolist(), plan.loads.round(2).tolist()
    ([3, 3, 3, 3, 3, 3, 3, 3], [16.08, 16.08, 15.84, 16.0])
    """
    first = previous is None
    previous = _checked(keys, counts, bucket_counts, capacities, previous)
    ascending = np.argsort(keys)
    keys, counts = keys[ascending], counts[ascending]
    earlier = _rows(keys, previous.keys)
    buckets = (keys & np.uint64(len(bucket_counts) - 1)).astype(np.int64)
    loads = np.concatenate((counts, bucket_counts))
    fair = capacities / capacities.sum() * loads.sum()
    homes = np.concatenate((previous.owners[buckets], previous.owners))
    before = Before(homes, earlier, previous.starts, previous.places, previous.shares)
    limits = Limits(fair * (1 + tolerance), fair * stickiness, fair * tolerance)
    if bucket_keys is not None:
        items, workers, parts, moved = _buckets_first(loads, before, limits, bucket_keys)
    elif first or compact:
        items, workers, parts, moved = fill(
            np.argsort(-loads, kind="stable"), loads, before, limits
        )
    else:
        items, workers, parts, moved = keep(loads, before, limits)
    owners = np.empty(len(bucket_counts), dtype=np.int32)
    of_buckets = items >= len(keys)
    owners[items[of_buckets] - len(keys)] = workers[of_buckets]
    # A key that is not split and is on the worker of its bucket needs no entry of its own.
    numbers = np.bincount(items[~of_buckets], minlength=len(keys))
    own = ~of_buckets
    own[own] = (numbers[items[own]] > 1) | (workers[own] != owners[buckets[items[own]]])
    rows = np.flatnonzero(own)
    rows = rows[np.argsort(items[rows], kind="stable")]
    lengths = np.bincount(items[rows], minlength=len(keys))
    whole = counts[items[rows]]
    return Plan(
        owners=owners,
        keys=keys[lengths > 0],
        starts=np.concatenate(([0], np.cumsum(lengths[lengths > 0]))).astype(np.int64),
        places=workers[rows],
        shares=np.divide(parts[rows], whole, out=np.ones(len(rows)), where=whole > 0),
        loads=np.bincount(workers, parts, minlength=len(capacities)).astype(np.float64),
        moved_keys=int(moved[: len(keys)].sum()),
        moved_buckets=int(moved[len(keys) :].sum()),
    )


def _buckets_first(
    loads: NDArray[np.float64], before: Before, limits: Limits, bucket_keys: NDArray[np.float64]
) -> Pieces:
    """Place the buckets by their numbers of keys, then the keys by their loads."""
    keys = len(before.rows)
    owners, rests = before.homes[keys:], loads[keys:]
    placed = _place_buckets(rests, bucket_keys, owners, limits.remaining)
    held = np.bincount(placed, rests, minlength=len(limits.remaining))
    order = np.argsort(-loads, kind="stable")
    after = replace(limits, remaining=limits.remaining - held)
    items, workers, parts, moved = fill(order[order < keys], loads, before, after)
    moved[keys:] = placed != owners
    return Pieces(
        np.concatenate((np.arange(keys, len(loads)), items)),
        np.concatenate((placed, workers)),
        np.concatenate((rests, parts)),
        moved,
    )


def _place_buckets(
    loads: NDArray[np.float64],
    keys: NDArray[np.float64],
    owners: NDArray[np.int32],
    remaining: NDArray[np.float64],
) -> NDArray[np.int32]:
    """Choose the worker that owns each bucket, so that workers own about equally many keys.

    Buckets stay on their previous owners if balance of keys allows it. If the load of a worker
    would then exceed its `remaining` capacity, all buckets are placed anew. The result is int32[B].
    """
    order, workers = np.argsort(-loads, kind="stable"), len(remaining)
    none = np.empty(0, dtype=np.int64)
    before = Before(owners, none, none, owners, np.empty(0))
    placed = np.empty(len(loads), dtype=np.int32)
    # Here the capacity of a worker is a number of keys, not a load: the mean number of keys per
    # worker, and a little more for buckets that stay.
    mean = np.full(workers, keys.sum() / workers)
    for stays in (_MORE_KEYS, -1.0):
        pieces = fill(order, keys, before, Limits(mean, mean * stays, np.zeros(workers)))
        placed[pieces.items] = pieces.workers
        if (np.bincount(placed, loads, minlength=workers) <= remaining).all():
            break
    return placed


def _rows(keys: NDArray[np.uint64], among: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Find the row of each key in an ascending array, -1 if it is missing."""
    rows = np.searchsorted(among, keys)
    rows[rows == len(among)] = -1
    if len(among):
        rows[among[rows] != keys] = -1
    return rows.astype(np.int64)


def _checked(
    keys: NDArray[np.uint64],
    counts: NDArray[np.float64],
    bucket_counts: NDArray[np.float64],
    capacities: NDArray[np.float64],
    previous: Plan | None,
) -> Plan:
    buckets = len(bucket_counts)
    if buckets < 1 or buckets & (buckets - 1):
        message = f"{buckets} buckets: their number must be a power of two"
        raise ConfigurationError(message)
    if len(keys) != len(counts):
        message = f"{len(keys)} keys but {len(counts)} counts: give one count per key"
        raise ConfigurationError(message)
    if not len(capacities) or not (capacities > 0).all():
        message = f"capacities = {capacities.tolist()}: give each worker a capacity above 0"
        raise ConfigurationError(message)
    for loads in (counts, bucket_counts):
        if not (loads >= 0).all() or np.isinf(loads).any():
            message = f"loads from {loads.min()} to {loads.max()}: must be finite and at least 0"
            raise ConfigurationError(message)
    if previous is None:
        return unplanned(buckets, len(capacities))
    if (len(previous.owners), previous.workers) != (buckets, len(capacities)):
        message = (
            f"the previous plan has {len(previous.owners)} buckets and {previous.workers} workers, "
            f"this one {buckets} and {len(capacities)}: plan without the previous plan"
        )
        raise ConfigurationError(message)
    return previous
