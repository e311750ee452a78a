"""The lookup of a plan: arrays in which three reads find the worker of a message."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.groupings.planned.plan import Plan

OWNER_BITS = 24
"""Number of low bits in an entry of `Lookup.words` that hold the worker that owns the bucket. The
higher bits hold the multiplier of the bucket."""

OFFSET = 0x9E3779B9
"""Number that is added, modulo 2**32, to the upper half of a hash before the multiplication."""

_LOW_32 = (1 << 32) - 1
_TRIES = 1 << 12
_MOST_DOUBLINGS = 4


class Lookup(NamedTuple):
    """A plan as arrays that need no search: a perfect hash of the keys with their own workers.

    Most keys go to the worker that owns their bucket. The other keys have their own workers, and
    each of them is stored in a slot. A split key has several workers. Let h be the hash of a key,
    ``word = words[h mod B]``, and T = ``len(slot_keys)``. The owner of the key's bucket is
    ``word mod 2**24``. The key's slot is the upper ``log2(T)`` bits of the 32-bit product
    ``(h // 2**32 + OFFSET) * (word // 2**24)``. If `slot_keys` has h in this slot, the key has its
    own workers. Then `slot_places` is its worker or, for a split key, W plus the number of the
    split key. The method is by Fredman, Komlos and Szemeredi (JACM 31, 1984). Here, however, all
    buckets share the slots, and the multipliers of the buckets are chosen one after the other.
    """

    words: NDArray[np.uint64]
    """[B], one number per bucket. Its low `OWNER_BITS` bits are the worker that owns the bucket;
    the higher bits are the multiplier of the bucket."""
    slot_keys: NDArray[np.uint64]
    """[T], hash of the key in each slot; T is a power of two."""
    slot_places: NDArray[np.int32]
    """[T], worker of the key in each slot, or W plus the number of a split key."""
    starts: NDArray[np.int64]
    """[s + 1], where the pieces of each split key begin in `workers` and `cuts`."""
    workers: NDArray[np.int32]
    """[pieces], worker of each piece."""
    cuts: NDArray[np.float64]
    """[pieces], cumulative shares of the pieces of each split key; the last piece of a key has
    1."""


def compile_plan(plan: Plan) -> Lookup:
    """Make the lookup of a plan.

    In two cases a key with its own workers cannot be stored. It then goes to the owner of its
    bucket. First, if the hashes of several keys in one bucket also agree in their upper 32 bits,
    only the key with most pieces is stored. Second, if there is no multiplier for a bucket, none of
    the bucket's keys is stored. This happens only with crafted hashes. Both cases cost balance,
    never correctness.
    """
    lengths = np.diff(plan.starts)
    buckets = (plan.keys & np.uint64(len(plan.owners) - 1)).astype(np.int64)
    alike = (buckets.astype(np.uint64) << np.uint64(32)) | (plan.keys >> np.uint64(32))
    most_first = np.lexsort((plan.keys, -lengths))
    rows = most_first[np.unique(alike[most_first], return_index=True)[1]]
    rows = rows[np.argsort(buckets[rows], kind="stable")]
    keys = plan.keys[rows]
    starts = np.searchsorted(buckets[rows], np.arange(len(plan.owners) + 1))
    largest_first = np.argsort(-np.diff(starts), kind="stable")
    order = largest_first[: np.count_nonzero(np.diff(starts))]
    stored = _stored(
        keys, list(zip(starts[order].tolist(), starts[order + 1].tolist(), strict=True))
    )
    multipliers = np.ones(len(plan.owners), dtype=np.uint64)
    multipliers[order] = stored.multipliers
    words = plan.owners.astype(np.uint64) | multipliers << np.uint64(OWNER_BITS)
    split = lengths[rows] > 1
    places = plan.places[plan.starts[rows]].astype(np.int32)
    places[split] = plan.workers + np.arange(split.sum())
    # A free slot matches hash 0, so it holds the owner of that hash's bucket.
    slot_keys = np.zeros(1 << stored.bits, dtype=np.uint64)
    slot_places = np.full(len(slot_keys), plan.owners[0], dtype=np.int32)
    slots = np.array(stored.slots, dtype=np.int64)
    has_slot = slots >= 0
    slot_keys[slots[has_slot]] = keys[has_slot]
    slot_places[slots[has_slot]] = places[has_slot]
    pieces = [np.arange(plan.starts[row], plan.starts[row + 1]) for row in rows[split]]
    cuts = [np.append(np.cumsum(plan.shares[each])[:-1], 1.0) for each in pieces]
    flat = np.concatenate(pieces) if pieces else np.empty(0, dtype=np.int64)
    return Lookup(
        words,
        slot_keys,
        slot_places,
        np.concatenate(([0], np.cumsum(lengths[rows[split]]))).astype(np.int64),
        plan.places[flat].astype(np.int32),
        np.concatenate(cuts) if cuts else np.empty(0),
    )


class _Stored(NamedTuple):
    """Keys in slots."""

    bits: int
    """There are ``2**bits`` slots."""
    slots: list[int]
    """Slot of each key; -1: the key is not stored."""
    multipliers: list[int]
    """Multiplier of each bucket."""


def _stored(keys: NDArray[np.uint64], buckets: list[tuple[int, int]]) -> _Stored:
    """Store keys in slots, at least two slots per key.

    Parameters
    ----------
    keys
        uint64[p], hashes of the keys.
    buckets
        Begin and end of the keys of each bucket. Buckets are stored in this order.
    """
    uppers = (((keys >> np.uint64(32)) + np.uint64(OFFSET)) & np.uint64(_LOW_32)).tolist()
    bits = (2 * len(uppers) - 1).bit_length() if uppers else 0
    most = bits + _MOST_DOUBLINGS
    while (stored := _displaced(uppers, buckets, bits, skip=bits == most)) is None:
        bits += 1
    return stored


def _displaced(
    uppers: list[int], buckets: list[tuple[int, int]], bits: int, *, skip: bool
) -> _Stored | None:
    """Find for each bucket the first odd multiplier that maps all its keys to free slots.

    If there is no multiplier for a bucket, the result is None or, if `skip` is true, none of the
    bucket's keys is stored.
    """
    slots = [-1] * len(uppers)
    multipliers = []
    taken: set[int] = set()
    for first, last in buckets:
        for multiplier in range(1, 2 * _TRIES, 2):
            wanted = [(each * multiplier & _LOW_32) >> 32 - bits for each in uppers[first:last]]
            if taken.isdisjoint(wanted) and len({*wanted}) == len(wanted):
                break
        else:
            if not skip:
                return None
            multiplier, wanted = 1, slots[first:last]
        slots[first:last] = wanted
        multipliers.append(multiplier)
        taken.update(wanted)
    return _Stored(bits, slots, multipliers)
