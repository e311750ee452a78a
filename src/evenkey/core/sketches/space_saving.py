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
_FIELDS = ("key", "count", "error")
_HEADER = struct.Struct("<8sqqd")
_MAGIC = b"evenkey1"
_LARGEST = 1 << 28


class Counters(NamedTuple):
    """The record arrays in which a SpaceSaving sketch counts messages, in the layout of kernels.

    ``rows[:head[0].held]`` are the counters; a key keeps its row until another key takes the row.
    `table` is an open-addressing hash table with linear probing; its size is a power of two, and it
    is at most half full. Each slot holds a key and the index of the key's row (-1: the slot is
    empty); the field ``slot`` of that row is the index of the slot. `heap` is used once all rows
    are used. It is a binary heap with one entry per row, ordered by (count, key). A count in the
    heap may be older than the count in the row; it is updated when the entry reaches the top. So a
    message of a key that has a row never changes the heap.

    Kernels (compiled functions) take the arrays as ``rows, table, heap, head``. They may read all
    arrays, and may write only as ``evenkey.core.sketches._kernels.update`` does. After an update,
    the share of a key in all messages is at most ``rows[row].count / head[0].total``, and at least
    ``(rows[row].count - rows[row].error) / head[0].total``.
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
        """Make arrays without keys."""
        table = np.zeros(1 << (2 * capacity - 1).bit_length(), dtype=_SLOT)
        table["row"] = -1
        rows, heap = np.zeros(capacity, dtype=_ROW), np.zeros(capacity, dtype=_ENTRY)
        return cls(rows, table, heap, np.zeros(1, dtype=_HEAD))


class SpaceSaving(Sketch):
    """Finds the most frequent keys of a weighted stream with `capacity` counters.

    A message adds its weight to the counter of its key. A key without a counter gets a free
    counter. If no counter is free, the key takes over the counter with the lowest count from
    another key. The count of the key starts at this count, which also becomes the error of the key
    (Metwally, Agrawal, El Abbadi, ICDT 2005). If several counters have the lowest count, the
    counter of the lowest key is taken, so that the sketch depends only on the messages and their
    order.

    Guarantees, with ``total`` the weight of all messages:

    - ``count - error <= true weight <= count`` for every key held;
    - ``error <= floor <= total / capacity``, where `floor` is the lowest count if all counters
      are in use, else 0; a key that is not held weighs at most `floor`;
    - so every key that weighs more than ``total / capacity`` is held.

    The guarantees also hold after `merge`, with the sum of both totals (Agarwal et al., Mergeable
    summaries, PODS 2012; Cafaro, Pulimeno, Tempesta, Information Sciences 2016), and after `decay`,
    with the scaled total, up to the rounding of float64. Sums are exact while the total is below
    2**53.

    Parameters
    ----------
    capacity
        Number of counters, at least 1. Each counter takes about 100 bytes.

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

    Sketches of two streams can be merged, serialized and decayed.

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
        self._capacity = capacity
        self._total = 0.0
        self._items = np.empty(0, dtype=_ITEM)
        self._counters: Counters | None = None

    @property
    def counters(self) -> Counters:
        """The arrays of the counters, in which kernels count messages."""
        if self._counters is None:
            from evenkey.core.sketches import _kernels

            self._counters = Counters.empty(self._capacity)
            self._counters.head["total"] = self._total
            keys, counts, errors = (self._items[name] for name in _FIELDS)
            order = np.lexsort((keys, counts))
            _kernels.load(*self._counters, keys[order], counts[order], errors[order])
        return self._counters

    @property
    def capacity(self) -> int:
        """Maximum number of counters."""
        return self._capacity

    @property
    def total(self) -> float:
        """Weight of all messages so far."""
        return self._total if self._counters is None else float(self._counters.head["total"][0])

    @property
    def floor(self) -> float:
        """Upper bound of the weight of a key that is not held."""
        return float(self._held("count").min()) if len(self) == self.capacity else 0.0

    def __len__(self) -> int:
        """Return the number of keys that are held."""
        return len(self._items) if self._counters is None else int(self._counters.head["held"][0])

    def update(self, keys: ArrayLike, weights: ArrayLike | None = None) -> None:
        """Count a batch of messages.

        Parameters
        ----------
        keys
            uint64[n], key of each message.
        weights
            int64[n] or float64[n], not negative. None: each weight is 1. A message of weight 0
            changes nothing.

        Raises
        ------
        ConfigurationError
            A weight is negative or not finite, or the numbers of keys and weights differ.
        """
        checked = _checked(keys, weights)
        from evenkey.core.sketches import _kernels

        _kernels.update(*self.counters, *checked)

    def merge(self, other: SpaceSaving) -> SpaceSaving:
        """Return the sketch of both streams together; merging is commutative.

        The counts and the errors of a key in the two sketches are added. If a sketch does not hold
        the key, the `floor` of that sketch is added instead, to the count and to the error. The
        `capacity` keys with the largest counts are kept. The guarantees hold for the sum of both
        totals.

        Raises
        ------
        ConfigurationError
            The capacities differ.
        """
        self.check_capacity_of(other)
        total = self.total + other.total
        if not len(self) or not len(other):
            return self._at_rest(self.capacity, total, (self if len(self) else other).items())
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
        return self._of(self.capacity, total, keys, counts, errors)

    def decay(self, factor: float) -> None:
        """Scale all counts, errors and the total, so that later messages weigh more.

        Parameters
        ----------
        factor
            Number that all counts are multiplied by, above 0 and at most 1.

        Raises
        ------
        ConfigurationError
            The factor is out of range.
        """
        if not 0 < factor <= 1:
            message = f"factor = {factor}: must be above 0 and at most 1"
            raise ConfigurationError(message)
        counts, errors = self._held("count") * factor, self._held("error") * factor
        # Rounding may make two counts equal, which changes their order, so sort again.
        decayed = self._of(self.capacity, self.total * factor, self._held("key"), counts, errors)
        self._total, self._items, self._counters = decayed.total, decayed.items(), None

    def items(self) -> NDArray[np.void]:
        """Return all held keys by descending count; keys with equal counts are in ascending order.

        Returns
        -------
        structured[held]
            ``key`` uint64, ``count`` float64 and ``error`` float64.
        """
        if self._counters is None:
            return self._items
        return _sorted(*(self._held(name) for name in _FIELDS))

    def top(self, k: int) -> NDArray[np.void]:
        """Return the first `k` entries of `items`, which have the largest counts."""
        return self.items()[: max(k, 0)]

    def to_bytes(self) -> bytes:
        """Serialize the sketch; equal sketches have equal bytes."""
        header = _HEADER.pack(_MAGIC, self.capacity, len(self), self.total)
        return header + self.items().tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Self:
        """Restore a sketch from the bytes of `to_bytes`.

        Raises
        ------
        RunError
            The bytes are not those of a SpaceSaving sketch.
        """
        if len(data) >= _HEADER.size:
            magic, capacity, held, total = _HEADER.unpack_from(data)
            complete = len(data) == _HEADER.size + held * _ITEM.itemsize
            if magic == _MAGIC and complete and 0 <= held <= capacity <= _LARGEST:
                items = np.frombuffer(data, dtype=_ITEM, offset=_HEADER.size)
                if _sound(items):
                    return cls._of(capacity, total, items["key"], items["count"], items["error"])
        message = (
            f"a stored SpaceSaving sketch ({len(data)} bytes) is corrupt: delete what it was read "
            "from, such as a run's output or a query's state, and start again"
        )
        raise RunError(message)

    def _held(self, field: str) -> NDArray[Any]:
        held = self._items if self._counters is None else self._counters.rows[: len(self)]
        values: NDArray[Any] = held[field]
        return values

    @classmethod
    def of_counts(
        cls, capacity: int, keys: NDArray[np.uint64], counts: NDArray[np.float64]
    ) -> Self:
        """Make a sketch of distinct keys with known counts, of which it holds the largest.

        Parameters
        ----------
        capacity
            Number of counters, at least 1.
        keys, counts
            uint64[n] and float64[n]; a key with count 0 is left out.

        Raises
        ------
        ConfigurationError
            A count is negative or not finite, or the numbers of keys and counts differ.

        Examples
        --------
        >>> counts = np.array([3.0, 0.0, 5.0])
        >>> SpaceSaving.of_counts(2, np.array([7, 8, 9], np.uint64), counts).items().tolist()
        [(9, 5.0, 0.0), (7, 3.0, 0.0)]
        """
        keys, counts = _checked(keys, counts)
        some = counts > 0
        total = float(np.cumsum(counts)[-1]) if len(counts) else 0.0
        return cls._of(capacity, total, keys[some], counts[some], np.zeros(some.sum()))

    @classmethod
    def _of(
        cls,
        capacity: int,
        total: float,
        keys: NDArray[np.uint64],
        counts: NDArray[np.float64],
        errors: NDArray[np.float64],
    ) -> Self:
        """Make a sketch from the `capacity` keys with the largest counts."""
        if len(keys) > capacity:
            largest = np.lexsort((keys, counts))[-capacity:]
            keys, counts, errors = keys[largest], counts[largest], errors[largest]
        return cls._at_rest(capacity, total, _sorted(keys, counts, errors))

    @classmethod
    def _at_rest(cls, capacity: int, total: float, items: NDArray[np.void]) -> Self:
        sketch = cls(capacity)
        sketch._total, sketch._items = total, items
        return sketch


def _sound(items: NDArray[np.void]) -> bool:
    """Return whether stored items have distinct keys, and counts that kernels can compare."""
    counts, errors = items["count"], items["error"]
    in_range = np.isfinite(counts) & (errors >= 0) & (errors <= counts)
    return bool(in_range.all()) and len(np.unique(items["key"])) == len(items)


def _sorted(
    keys: NDArray[np.uint64], counts: NDArray[np.float64], errors: NDArray[np.float64]
) -> NDArray[np.void]:
    """Return items by descending count, then by key, in an array that is shared, so read-only."""
    order = np.lexsort((keys, -counts))
    items = np.empty(len(order), dtype=_ITEM)
    for name, values in zip(_FIELDS, (keys, counts, errors), strict=True):
        items[name] = values[order]
    items.flags.writeable = False
    return items


def _checked(
    keys: ArrayLike, weights: ArrayLike | None
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return keys and weights as arrays; raise an error if a weight is out of range."""
    keys = np.asarray(keys, dtype=np.uint64)
    if weights is None:
        weights = np.broadcast_to(np.float64(1), keys.shape)
    weights = np.asarray(weights, dtype=np.float64)
    if weights.shape != keys.shape:
        message = f"{keys.size} keys but {weights.size} weights: give one weight per key"
        raise ConfigurationError(message)
    wrong = weights[~((weights >= 0) & (weights < np.inf))]
    if wrong.size:
        message = f"weight {wrong[0]:g}: a weight must be finite and not negative"
        raise ConfigurationError(message)
    return keys, weights
