"""The most frequent keys."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators.base import Aggregator
from evenkey.aggregators.groups import check_names, number_groups, reduce_groups
from evenkey.core.checking import check_fields, columns_listed
from evenkey.core.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

_STATE = ("keys", "counts", "errors", "floor")
_COUNTERS_PER_PLACE = 10
_FEWEST_COUNTERS = 1000


@dataclass(frozen=True)
class TopK(Aggregator):
    """The k most frequent keys of each window, from SpaceSaving summaries that merge.

    State of a group: at most `capacity` hot keys as lists ``keys``, ``counts`` and ``errors``
    (int64), in descending order of counts, and ``floor`` (int64), the maximum weight of any
    other key. `partial` counts messages exactly and then keeps only the `capacity` hottest keys.
    `merge` adds up the counts and errors of each key. A key that a part does not list may have a
    weight of up to the floor of that part. So `merge` adds this floor to the key's count and to
    the key's error (Cafaro, Pulimeno, Tempesta, Information Sciences 2016; Agarwal et al., PODS
    2012; PKG paper, section 4.2). `merge` keeps the `capacity` hottest keys; keys with equal
    counts are in order of the keys.

    Result: rows of ``key``, ``count``, ``error`` and ``rank`` (int64, from 1), at most k per
    group.

    Guarantees, with m the weight of all messages of the group, for every division of the messages
    into parts and every order of merging:

    - ``count - error <= true weight <= count``;
    - ``error <= floor <= m / capacity``;
    - every key with a weight above ``m / capacity`` is in the state. So the result is the true
      top k if the k-th key weighs more than ``m / capacity``, and the gaps between the weights of
      keys are wider than ``m / capacity``;
    - all counts are exact while there are no more than `capacity` keys.

    `TopK` does not know which worker a part comes from. So a merge adds the floor of every part
    that does not list a key, even if the grouping sends each key to only one or two workers.
    `HeavyHitters` knows the worker of each part, and has smaller errors.

    Parameters
    ----------
    k
        Maximum number of keys in the result, at least 1.
    capacity
        Maximum number of keys in the state, at least `k`. None: the larger of ``10 * k`` and 1000.
    weight
        Integer column with the weight of each message, not negative; null counts as 0. None: each
        message weighs 1.

    Raises
    ------
    ConfigurationError
        `k` or `capacity` is out of range. From `bind`: a column is missing, or `weight` is not an
        integer column.
    RunError
        From `partial`: a weight is negative, or weights add up to more than int64 holds.

    Examples
    --------
    >>> import pyarrow as pa
    >>> messages = pa.table({"key": ["a", "b", "a", "c", "b", "a"]})
    >>> top = TopK(2)
    >>> top.finish(top.partial(messages, by=[]), by=[]).to_pylist()
    [{'key': 'a', 'count': 3, 'error': 0, 'rank': 1},
     {'key': 'b', 'count': 2, 'error': 0, 'rank': 2}]

    >>> top.counters, TopK(2, capacity=50).counters
    (1000, 50)
    """

    name: ClassVar[str] = "top-k"
    scope: ClassVar[Literal["key", "window"]] = "window"
    k: int
    capacity: int | None = None
    weight: str | None = None
    key_type: pa.DataType | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_fields(self)
        check_places(self.name, self.k, self.capacity)

    @property
    def counters(self) -> int:
        """Maximum number of keys in a state: `capacity`, or its default."""
        return self.capacity or max(_COUNTERS_PER_PLACE * self.k, _FEWEST_COUNTERS)

    @property
    def columns(self) -> tuple[str, ...]:
        """The weight column, if there is one."""
        return () if self.weight is None else (self.weight,)

    @property
    def state(self) -> pa.Schema:
        """Columns ``keys``, ``counts``, ``errors`` and ``floor``; `bind` finds the key type."""
        numbers = pa.list_(pa.int64())
        types = (pa.list_(self._bound(self.key_type)), numbers, numbers, pa.int64())
        return pa.schema(list(zip(_STATE, types, strict=True)))

    @property
    def result(self) -> pa.Schema:
        """Columns ``key``, ``count``, ``error`` and ``rank``; `bind` finds the key type."""
        numbers = [(name, pa.int64()) for name in ("count", "error", "rank")]
        return pa.schema([("key", self._bound(self.key_type)), *numbers])

    def bind(self, messages: pa.Schema) -> Self:
        """Take the type of the keys from the messages' schema."""
        super().bind(messages)
        if self.weight and not pa.types.is_integer(messages.field(self.weight).type):
            message = (
                f"{self}: weight {self.weight!r} is of type "
                f"{messages.field(self.weight).type}; it must be an integer column"
            )
            raise ConfigurationError(message)
        if "key" not in messages.names:
            has = columns_listed(messages.names)
            message = f"{self}: the messages have no column 'key'; they have: {has}"
            raise ConfigurationError(message)
        return self._with(key_type=messages.field("key").type)

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Summarize the keys of each group."""
        self.bind(messages.schema)
        check_names(messages, by, ["key", "count", "error", "rank", "least", *_STATE])
        if self.weight is None:
            counted = reduce_groups(messages, [*by, "key"], {"count": ("key", "messages")})
        else:
            counted = reduce_groups(
                messages,
                [*by, "key"],
                {"count": (self.weight, "sum"), "least": (self.weight, "min")},
                {"count": pa.int64()},
            )
            least = pc.min(counted["least"]).as_py()
            if least is not None and least < 0:
                message = f"{self}: a weight is {least}; weights must not be negative"
                raise RunError(message)
        numbers, groups = number_groups(counted, by)
        counts = counted["count"].fill_null(0).to_numpy()
        floors = np.zeros(_size(numbers), dtype=np.int64)
        heavy = counts > 0
        return self._hottest(
            groups,
            floors,
            pa.table(
                {
                    "group": numbers[heavy],
                    "key": counted["key"].filter(pa.array(heavy)),
                    "count": counts[heavy],
                    "error": np.zeros(int(heavy.sum()), dtype=np.int64),
                }
            ),
        )

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge the summaries of each group."""
        numbers, groups = number_groups(partials, by)
        part_floors = partials["floor"].to_numpy()
        floors = np.zeros(_size(numbers), dtype=np.int64)
        np.add.at(floors, numbers, part_floors)
        # Subtract the floor of the part from the counts and errors of its keys. The sum of the
        # floors of all parts can then be added to every key in one operation.
        part = np.repeat(np.arange(len(numbers)), pc.list_value_length(partials["keys"]))
        listed = pa.table(
            {
                "group": numbers[part],
                "key": pc.list_flatten(partials["keys"]),
                "count": pc.list_flatten(partials["counts"]).to_numpy() - part_floors[part],
                "error": pc.list_flatten(partials["errors"]).to_numpy() - part_floors[part],
            }
        )
        merged = reduce_groups(
            listed, ["group", "key"], {"count": ("count", "sum"), "error": ("error", "sum")}
        )
        common = floors[merged["group"].to_numpy()]
        for number, column in ((2, "count"), (3, "error")):
            merged = merged.set_column(number, column, [merged[column].to_numpy() + common])
        return self._hottest(groups, floors, merged)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Rank the k most frequent keys of each group."""
        lengths = pc.list_value_length(merged["keys"]).to_numpy()
        group = np.repeat(np.arange(len(lengths)), lengths)
        place = places_in(lengths)
        first = np.flatnonzero(place < self.k)
        columns = {column: merged[column].take(group[first]) for column in by}
        for column, lists in (("key", "keys"), ("count", "counts"), ("error", "errors")):
            columns[column] = pc.list_flatten(merged[lists]).take(first)
        return pa.table({**columns, "rank": place[first] + 1})

    def _hottest(self, groups: pa.Table, floors: NDArray[np.int64], listed: pa.Table) -> pa.Table:
        """Keep the hottest keys of each group; `floors` bounds the weight of all other keys."""
        order = [("group", "ascending"), ("count", "descending"), ("key", "ascending")]
        listed = listed.sort_by(order)
        group = listed["group"].to_numpy()
        lengths = np.bincount(group, minlength=len(floors))
        place = places_in(lengths)
        dropped = place == self.counters
        floors = floors.copy()
        floors[group[dropped]] = listed["count"].to_numpy()[dropped]
        kept = listed.filter(pa.array(place < self.counters))
        ends = np.cumsum(np.minimum(lengths, self.counters))
        offsets = pa.array(np.concatenate([[0], ends]), type=pa.int32())
        lists = {
            f"{column}s": pa.ListArray.from_arrays(offsets, kept[column].combine_chunks())
            for column in ("key", "count", "error")
        }
        columns = {name: groups[name] for name in groups.column_names}
        return pa.table({**columns, **lists, "floor": floors})


def check_places(name: str, k: int, capacity: int | None) -> None:
    """Raise `ConfigurationError` if `k` is below 1 or `capacity` below `k`."""
    if k < 1:
        message = f"{name}: k = {k}: there must be at least 1 key"
        raise ConfigurationError(message)
    if capacity is not None and capacity < k:
        message = f"{name}: capacity = {capacity}: it must be at least k = {k}"
        raise ConfigurationError(message)


def _size(numbers: NDArray[np.int64]) -> int:
    """Count the groups, from the group number of each row."""
    return int(numbers.max(initial=-1)) + 1


def places_in(lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the positions 0, 1, ... within each of several concatenated lists."""
    starts = np.cumsum(lengths) - lengths
    return np.arange(lengths.sum(), dtype=np.int64) - np.repeat(starts, lengths)
