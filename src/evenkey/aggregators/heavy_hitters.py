"""The most frequent keys, with an error bound that uses how many workers can hold a key."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.aggregators.base import WORKER, Aggregator
from evenkey.aggregators.groups import check_names, number_groups
from evenkey.aggregators.top_k import TopK, check_places, places_in
from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from numpy.typing import NDArray

_SUMMARIES = "summaries"
_RESULT = ("key", "count", "error", "terms", "rank")
_SUMMARY = (WORKER, "keys", "counts", "errors", "floor")


@dataclass(frozen=True)
class HeavyHitters(Aggregator):
    """The k most frequent keys of each window, from one SpaceSaving summary per worker.

    State of a group: a list ``summaries`` with one summary per worker. A summary is like a state
    of `TopK`: at most `capacity` keys with ``counts`` and ``errors``, and ``floor``, the maximum
    weight of any other key of that worker. Summaries of the same worker merge as in `TopK`.
    Summaries of different workers stay separate until `finish`, so a state with W workers has at
    most ``W * capacity`` counters.

    `finish` adds up the counts of a key in all summaries. A worker whose summary does not list
    the key may still have processed it, with a weight of at most the worker's floor. The grouping
    sends a key to at most `choices` workers. So if the summaries of t workers list the key,
    `finish` adds the floors of at most ``choices - t`` other workers, those with the largest
    floors. Let f be the true weight of a key. Then (PKG paper, section 4.2; `finish` drops no
    key, so it adds no error of merging):

    - ``count - error <= f <= count``;
    - ``error`` is the sum of at most `choices` terms: one under key grouping, two under partial
      key grouping, W under shuffle grouping. Each term is at most the floor of a worker, which is
      at most ``m_w / capacity``, where ``m_w`` is the weight of that worker's messages;
    - every key heavier than the sum of the `choices` largest floors is found.

    Result: rows of ``key``, ``count``, ``error``, ``terms`` (number of workers whose errors or
    floors make up ``error``) and ``rank`` (int64, from 1), at most k rows per group. The most
    frequent key comes first; keys with equal counts are in order of the keys.

    Parameters
    ----------
    k
        Maximum number of keys in the result, at least 1.
    capacity
        Maximum number of keys in each summary, at least `k`. None: the larger of ``10 * k`` and
        1000.
    choices
        Maximum number of workers that a key is sent to: 1 under ``kg``, d under
        ``pkg(choices=d)``. None: any number of workers. The maximum must hold for the whole
        window; otherwise the reported errors are too small.
    weight
        Integer column with the weight of each message, not negative; null counts as 0. None: each
        message weighs 1.

    Raises
    ------
    ConfigurationError
        A parameter is out of range. From `bind`: a column is missing, or `weight` is not an
        integer column.
    RunError
        From `partial`: a weight is negative, or weights add up to more than int64 holds.

    Examples
    --------
    >>> import pyarrow as pa
    >>> messages = pa.table({"key": list("aabab"), "__worker": [0, 0, 1, 1, 1]})
    >>> hitters = HeavyHitters(2, choices=2)
    >>> hitters.finish(hitters.partial(messages, by=[]), by=[]).to_pylist()
    [{'key': 'a', 'count': 3, 'error': 0, 'terms': 2, 'rank': 1},
     {'key': 'b', 'count': 2, 'error': 0, 'terms': 1, 'rank': 2}]

    >>> hitters.counters, hitters.columns
    (1000, ('__worker',))
    """

    name: ClassVar[str] = "heavy-hitters"
    scope: ClassVar[Literal["key", "window"]] = "window"
    k: int = 20
    capacity: int | None = None
    choices: int | None = None
    weight: str | None = None
    key_type: pa.DataType | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.choices is not None and self.choices < 1:
            message = (
                f"heavy-hitters: choices = {self.choices}: must be at least 1 worker; leave out "
                "choices if the grouping may send a key to any worker"
            )
            raise ConfigurationError(message)
        check_places(self.name, self.k, self.capacity)

    @property
    def _summary(self) -> TopK:
        """The aggregator that summarizes the messages of one worker."""
        return TopK(self.k, self.capacity, self.weight)

    @property
    def counters(self) -> int:
        """Maximum number of keys in each worker's summary."""
        return self._summary.counters

    @property
    def columns(self) -> tuple[str, ...]:
        """The worker column, and the weight column if there is one."""
        return (WORKER, *self._summary.columns)

    @property
    def state(self) -> pa.Schema:
        """The list ``summaries``; the type of the keys comes from `bind`."""
        numbers = pa.list_(pa.int64())
        types = (pa.int32(), pa.list_(self._bound(self.key_type)), numbers, numbers, pa.int64())
        summary = pa.struct(list(zip(_SUMMARY, types, strict=True)))
        return pa.schema([(_SUMMARIES, pa.list_(summary))])

    @property
    def result(self) -> pa.Schema:
        """``key``, ``count``, ``error``, ``terms`` and ``rank``."""
        numbers = [(name, pa.int64()) for name in ("count", "error", "terms", "rank")]
        return pa.schema([("key", self._bound(self.key_type)), *numbers])

    def bind(self, messages: pa.Schema) -> Self:
        """Take the type of the keys from the messages' schema."""
        super().bind(messages)
        return self._with(key_type=self._summary.bind(messages).key_type)

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Summarize the messages of each group, one summary per worker."""
        bound = self.bind(messages.schema)
        check_names(messages, by, [*_RESULT, _SUMMARIES])
        worker = messages.schema.get_field_index(WORKER)
        messages = messages.set_column(worker, WORKER, messages[WORKER].cast(pa.int32()))
        return _nested(self._summary.partial(messages, [*by, WORKER]), by, bound.state)

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Merge the summaries of each worker."""
        flat = self._summary.merge(_flat(partials, by), [*by, WORKER])
        return _nested(flat, by, partials.select([_SUMMARIES]).schema)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Add up each key's counts over the workers, and rank the k most frequent of each group."""
        summaries = merged.append_column("group", [np.arange(merged.num_rows)])
        flat = _flat(summaries.select(["group", _SUMMARIES]), ["group"])
        lengths = pc.list_value_length(flat["keys"]).to_numpy()
        part = np.repeat(np.arange(flat.num_rows), lengths)
        listed = pa.table(
            {
                "group": flat["group"].take(part),
                "key": pc.list_flatten(flat["keys"]),
                "count": pc.list_flatten(flat["counts"]),
                "error": pc.list_flatten(flat["errors"]),
                "part": part,
            }
        )
        numbers, keys = number_groups(listed, ["group", "key"])
        sums = [_summed(numbers, listed[name], keys.num_rows) for name in ("count", "error")]
        floors, terms = self._unlisted(flat, keys["group"].to_numpy(), numbers, part)
        ranked = pa.table(
            {
                **{name: keys[name] for name in ("group", "key")},
                "count": sums[0] + floors,
                "error": sums[1] + floors,
                "terms": terms,
            }
        ).sort_by([("group", "ascending"), ("count", "descending"), ("key", "ascending")])
        sizes = np.bincount(ranked["group"].to_numpy(), minlength=merged.num_rows)
        place = places_in(sizes)
        first = ranked.append_column("rank", [place + 1]).filter(pa.array(place < self.k))
        groups = {column: merged[column].take(first["group"]) for column in by}
        return pa.table({**groups, **{name: first[name] for name in _RESULT}})

    def _unlisted(
        self,
        flat: pa.Table,
        groups: NDArray[np.int64],
        numbers: NDArray[np.int64],
        part: NDArray[np.int64],
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the floors to add to each key's count and error, and each key's number of terms.

        The floors are those of workers whose summaries do not list the key. A term is the error
        or the floor of one worker.

        Parameters
        ----------
        flat
            The summaries, one per row, with their ``group``.
        groups
            The group of each key.
        numbers, part
            For each entry of a summary: the number of its key, and its row in `flat`.
        """
        floors = flat["floor"].to_numpy()
        terms = np.bincount(numbers, minlength=len(groups))
        added = np.zeros(len(groups), dtype=np.int64)
        if self.choices is None:
            # Every worker that does not list a key may have processed it.
            group, size = flat["group"].to_numpy(), int(groups.max(initial=-1)) + 1
            added, more = (
                np.bincount(group, counts, size)[groups]
                - np.bincount(numbers, counts[part], len(groups))
                for counts in (floors, floors > 0)
            )
            return added.astype(np.int64), terms + more.astype(np.int64)
        for group in np.unique(groups):
            mine = np.flatnonzero(groups == group)
            parts = np.flatnonzero(flat["group"].to_numpy() == group)
            parts = parts[np.argsort(-floors[parts], kind="stable")]
            most = min(self.choices, len(parts))
            # The `most` largest floors are enough. A key that t summaries list needs at most
            # `most` - t floors of other workers, and at most t of the workers with the largest
            # floors list the key.
            place = np.full(flat.num_rows, -1)
            place[parts[:most]] = np.arange(most)
            lists = np.zeros((len(mine), most), dtype=bool)
            entries = np.flatnonzero((place[part] >= 0) & (groups[numbers] == group))
            lists[np.searchsorted(mine, numbers[entries]), place[part[entries]]] = True
            free = np.cumsum(~lists, axis=1) <= (most - np.minimum(terms[mine], most))[:, None]
            counted = np.where(free & ~lists, floors[parts[:most]], 0)
            added[mine] = counted.sum(axis=1)
            terms[mine] += (counted > 0).sum(axis=1)
        return added, terms


def _nested(flat: pa.Table, by: Sequence[str], state: pa.Schema) -> pa.Table:
    """Put the summaries of each group into a list, in order of worker."""
    numbers, groups = number_groups(flat, by)
    ordered = flat.append_column("__group", [numbers]).sort_by(
        [("__group", "ascending"), (WORKER, "ascending")]
    )
    kind = state.field(_SUMMARIES).type
    structs = pa.StructArray.from_arrays(
        [ordered[name].combine_chunks() for name in _SUMMARY], fields=list(kind.value_type)
    )
    sizes = np.bincount(numbers) if len(numbers) else np.empty(0, dtype=np.int64)
    offsets = pa.array(np.concatenate([[0], np.cumsum(sizes)]), pa.int32())
    lists = pa.ListArray.from_arrays(offsets, structs, type=kind)
    return pa.table({**{name: groups[name] for name in groups.column_names}, _SUMMARIES: lists})


def _flat(partials: pa.Table, by: Sequence[str]) -> pa.Table:
    """Return the summaries, one per row, with the columns `by`."""
    lists = partials[_SUMMARIES].combine_chunks()
    rows = pc.list_parent_indices(lists)
    summaries = pa.Table.from_struct_array(pc.list_flatten(lists))
    columns = {name: partials[name].take(rows) for name in by}
    return pa.table({**columns, **{name: summaries[name] for name in _SUMMARY}})


def _summed(numbers: NDArray[np.int64], values: pa.ChunkedArray, size: int) -> NDArray[np.int64]:
    sums = np.zeros(size, dtype=np.int64)
    np.add.at(sums, numbers, values.to_numpy())
    return sums
