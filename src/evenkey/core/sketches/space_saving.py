"""SpaceSaving: the most frequent keys of a stream in constant space."""

from __future__ import annotations

import struct
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenkey.core.checking import whole_number
from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.sketches.base import Sketch

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

_ROW = np.dtype([("key", "u8"), ("count", "f8"), ("error", "f8"), ("slot", "i8")])
_SLOT = np.dtype([("key", "u8"), ("row", "i8")])
_ENTRY = np.dtype([("count", "f8"), ("key", "u8"), ("row", "i8")])
_HEAD = np.dtype([("total", "f8"), ("held", "i8")])
_ITEM = np.dtype([("key", "<u8"), ("count", "<f8"), ("error", "<f8")])
_HEADER = struct.Struct("<8sqqd")
_MAGIC = b"evenkey1"
_LARGEST = 1 << 28


class Counters(NamedTuple):
    """The record arrays of a SpaceSaving sketch, as kernels see them.

    ``rows[:head[0].held]`` are the counters; a key keeps its row until it is given up.
    `table` is an open-addressing table (linear probing, a power of two in size, at most half
    full): a slot whose row is not -1 leads a key to its row, and the row's `slot` leads back.
    `heap`, in use once all rows are, has one entry per row, ordered as a binary heap by (count,
    key); its counts may lag behind those of the rows, and are brought up when they reach the
    top, so that a message of a key that is held never touches the heap.

    Kernels pass them on as ``rows, table, heap, head``, read what they like and write as
    ``evenkey.core.sketches._kernels.update`` does. After that, a key's share of all messages is at
    most ``rows[row].count / head[0].total`` and at least that less
    ``rows[row].error / head[0].total``.
    """

    rows: NDArray[np.void]
    """[capacity]: ``key`` uint64, ``count`` float64, ``error`` float64, ``slot`` int64."""
    table: NDArray[np.void]
    """[power of two]: ``key`` uint64, ``row`` int64."""
    heap: NDArray[np.void]
    """[capacity]: ``count`` float64, ``key`` uint64, ``row`` int64."""
    head: NDArray[np.void]
    """[1]: ``total`` float64, ``held`` int64."""

    @classmethod
    def empty(cls, capacity: int) -> Counters:
        """Make arrays that hold nothing."""
        table = np.zeros(1 << (2 * capacity - 1).bit_length(), dtype=_SLOT)
        table["row"] = -1
        rows, heap = np.zeros(capacity, dtype=_ROW), np.zeros(capacity, dtype=_ENTRY)
        return cls(rows, table, heap, np.zeros(1, dtype=_HEAD))


class SpaceSaving(Sketch):
    """The most frequent keys of a weighted stream, by `capacity` counters.

    A key that has a counter adds to it. One that has none gets a new counter, or, when all
    are taken, the lightest: it takes over that counter's count as its own error (Metwally,
    Agrawal, El Abbadi, ICDT 2005). Equally light counters are given up in order of their
    keys, so the sketch is a function of the messages and their order.

    Guarantees, with ``total`` the weight of all messages:

    - ``count - error <= true weight <= count`` for every key held;
    - ``error <= floor <= total / capacity``, where `floor` is the lightest count of a full
      sketch, else 0; no key that is not held weighs more than `floor`;
    - so every key heavier than ``total / capacity`` is held.

    They survive `merge` with the totals added up (Agarwal et al., Mergeable summaries, PODS
    2012; Cafaro, Pulimeno, Tempesta, Information Sciences 2016), and `decay` with the total
    scaled, up to the rounding of float64. Counts are exact while the total is below 2**53.

    Parameters
    ----------
    capacity
        Counters, at least 1; about 100 bytes each.

    Raises
    ------
    ConfigurationError
        The capacity is out of range.

    Examples
    --------
    >>> sketch = SpaceSaving(capacity=2)
    >>> sketch.update([7, 7, 7, 8, 9, 7])
    >>> sketch.items().tolist()
    [(7, 4.0, 0.0), (9, 2.0, 1.0)]
    >>> sketch.total, sketch.floor
    (6.0, 2.0)

    Sketches of two streams merge, travel as bytes, and forget.

    >>> other = SpaceSaving(sketch.capacity)
    >>> other.update([8, 8, 8], weights=[1, 1, 3])
    >>> both = sketch.merge(SpaceSaving.from_bytes(other.to_bytes()))
    >>> both.decay(0.5)
    >>> both.top(1).tolist()
    [(8, 3.5, 1.0)]
    """

    def __init__(self, capacity: int) -> None:
        whole_number("capacity", capacity)
        if not 1 <= capacity <= _LARGEST:
            message = f"capacity = {capacity}: must be from 1 to {_LARGEST} counters"
            raise ConfigurationError(message)
        self.counters = Counters.empty(capacity)

    @property
    def capacity(self) -> int:
        """The number of counters there can be."""
        return len(self.counters.rows)

    @property
    def total(self) -> float:
        """The weight of all messages so far."""
        return float(self.counters.head["total"][0])

    @property
    def floor(self) -> float:
        """What a key that is not held weighs at most."""
        return float(self._held("count").min()) if len(self) == self.capacity else 0.0

    def __len__(self) -> int:
        """Count the keys held."""
        return int(self.counters.head["held"][0])

    def update(self, keys: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Count a batch of messages.

        Parameters
        ----------
        keys
            uint64[n].
        weights
            int64[n] or float64[n], not negative; 1 each if left out. A message of weight 0
            changes nothing.

        Raises
        ------
        ConfigurationError
            A weight is negative or not finite, or there is not one per key.
        """
        from evenkey.core.sketches import _kernels

        keys = np.asarray(keys, dtype=np.uint64)
        if weights is None:
            weights = np.broadcast_to(np.float64(1), keys.shape)
        weights = np.asarray(weights, dtype=np.float64)
        if weights.shape != keys.shape:
            message = f"{keys.size} keys but {weights.size} weights: give one weight per key"
            raise ConfigurationError(message)
        wrong = weights[~((weights >= 0) & (weights < np.inf))]
        if wrong.size:
            message = f"weight {wrong[0]:g}: weights are finite and not negative"
            raise ConfigurationError(message)
        _kernels.update(*self.counters, keys, weights)

    def merge(self, other: SpaceSaving) -> SpaceSaving:
        """Make the sketch of both streams together; commutative.

        A key that one of the sketches does not hold gets that sketch's `floor` as count and
        error for its part; the `capacity` largest stay. The guarantees hold for the sum of
        both totals.

        Raises
        ------
        ConfigurationError
            The capacities differ.
        """
        self.check_capacity_of(other)
        parts = [(sketch.items(), sketch.floor) for sketch in (self, other)]
        keys = np.union1d(*(items["key"] for items, _ in parts))
        counts, errors = np.zeros(len(keys)), np.zeros(len(keys))
        for items, floor in parts:
            missing = np.ones(len(keys), dtype=bool)
            rows = np.searchsorted(keys, items["key"])
            missing[rows] = False
            counts[rows] += items["count"]
            errors[rows] += items["error"]
            counts[missing] += floor
            errors[missing] += floor
        return self._of(self.capacity, self.total + other.total, keys, counts, errors)

    def decay(self, factor: float) -> None:
        """Scale all counts, errors and the total, so that later messages weigh more.

        Parameters
        ----------
        factor
            Above 0, at most 1.

        Raises
        ------
        ConfigurationError
            The factor is out of range.
        """
        if not 0 < factor <= 1:
            message = f"factor = {factor}: must be above 0 and at most 1"
            raise ConfigurationError(message)
        counts, errors = self._held("count") * factor, self._held("error") * factor
        # Rounding may make two counts equal and so change their order.
        decayed = self._of(self.capacity, self.total * factor, self._held("key"), counts, errors)
        self.counters = decayed.counters

    def items(self) -> NDArray[np.void]:
        """All keys held, in descending order of counts, ties by key.

        Returns
        -------
        structured[held]
            ``key`` uint64, ``count`` float64 and ``error`` float64.
        """
        order = np.lexsort((self._held("key"), -self._held("count")))
        items = np.empty(len(order), dtype=_ITEM)
        for name in _ITEM.names or ():
            items[name] = self._held(name)[order]
        return items

    def top(self, k: int) -> NDArray[np.void]:
        """The first `k` of `items`."""
        return self.items()[: max(k, 0)]

    def to_bytes(self) -> bytes:
        """Serialize; equal sketches give equal bytes."""
        header = _HEADER.pack(_MAGIC, self.capacity, len(self), self.total)
        return header + self.items().tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore what `to_bytes` gave.

        Raises
        ------
        RunError
            The bytes are not those of a sketch.
        """
        if len(data) >= _HEADER.size:
            magic, capacity, held, total = _HEADER.unpack_from(data)
            complete = len(data) == _HEADER.size + held * _ITEM.itemsize
            if magic == _MAGIC and complete and 0 <= held <= capacity <= _LARGEST:
                items = np.frombuffer(data, dtype=_ITEM, offset=_HEADER.size)
                return cls._of(capacity, total, items["key"], items["count"], items["error"])
        message = (
            f"these {len(data)} bytes are no SpaceSaving sketch, or a damaged one; "
            "delete the state that they come from and start again"
        )
        raise RunError(message)

    def _held(self, field: str) -> NDArray[Any]:
        held: NDArray[Any] = self.counters.rows[field][: len(self)]
        return held

    @classmethod
    def _of(
        cls,
        capacity: int,
        total: float,
        keys: NDArray[np.uint64],
        counts: NDArray[np.float64],
        errors: NDArray[np.float64],
    ) -> Self:
        """Make a sketch of the rows with the largest counts."""
        from evenkey.core.sketches import _kernels

        sketch = cls(capacity)
        sketch.counters.head["total"] = total
        order = np.lexsort((keys, counts))[-capacity:]
        _kernels.load(*sketch.counters, keys[order], counts[order], errors[order])
        return sketch
