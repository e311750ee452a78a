"""Checks that every aggregator must pass, and that the author of an aggregator can run."""

from __future__ import annotations

import math
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from evenkey.aggregators import Algebraic, available, parse, reduce_groups
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from evenkey.aggregators import Aggregator

_MESSAGES = 300
_PARTS = 7
_KEYS = 40
_REPETITIONS = 16
_SLACK = 2  # larger numbers can have more digits, and buffers are rounded up


def yield_aggregator_checks(
    aggregator: Aggregator,
    messages: pa.Table | None = None,
    same: Callable[[pa.Table, pa.Table], None] | None = None,
) -> Iterator[tuple[str, Callable[[], None]]]:
    """Yield the conformance checks of an aggregator.

    Parameters
    ----------
    aggregator
        An aggregator of evenkey or of the user.
    messages
        Messages to aggregate, at least one, with the columns ``"window"`` and ``"key"`` and the
        columns that the aggregator reads. None: 300 generated messages. Their columns have the
        types in `column_types` of the aggregator, or hold small integers and nulls.
    same
        Function that compares two results: one from all messages together, and one from the same
        messages in parts. It raises AssertionError if the results do not agree. None: the results
        must be equal, except that floating-point numbers may differ by rounding. For an approximate
        aggregator, pass a function that checks its error bound.

    Yields
    ------
    tuple
        The name of a check, and a function that raises AssertionError if the aggregator fails it.

    Examples
    --------
    >>> from evenkey.aggregators import Count
    >>> for name, check in yield_aggregator_checks(Count()):
    ...     check()
    """
    messages = sample_messages(aggregator) if messages is None else messages
    bound = aggregator.bind(messages.schema)
    window = [("window",), ()]
    for by in window if aggregator.scope == "window" else [("window", "key"), ("key",), ()]:
        trial = _Trial(bound, messages, by, same or _assert_same)
        for check in (
            trial.check_tables_have_the_promised_columns,
            trial.check_no_messages_give_no_rows,
            trial.check_one_message,
            trial.check_merging_one_part_changes_nothing,
            trial.check_any_cut_gives_the_same_result,
            trial.check_merge_is_commutative,
            trial.check_merge_is_associative,
            trial.check_state_does_not_grow_with_repetition,
            trial.check_groups_by_struct,
            trial.check_pickled_aggregator_agrees,
            trial.check_columns_merge_as_stated,
        ):
            yield f"{check.__name__}-by-{'-'.join(by) or 'nothing'}", check
    yield "check_spelling_round_trip", _Trial(aggregator, messages, (), _assert_same).spelling


def sample_messages(aggregator: Aggregator, count: int = _MESSAGES, seed: int = 0) -> pa.Table:
    """Make skewed messages in four windows; columns hold small integers and nulls.

    If the aggregator's `column_types` states the type of a column, the column has this type:
    numbers, texts, booleans, dates or times.

    Raises
    ------
    ConfigurationError
        A column has a type for which no values can be made up. Pass messages of your own in this
        case.

    Examples
    --------
    >>> from evenkey import Sum
    >>> messages = sample_messages(Sum("amount"), count=5)
    >>> messages.num_rows, "amount" in messages.column_names
    (5, True)
    """
    random = np.random.default_rng(seed)
    ranks = random.zipf(1.4, count) % _KEYS
    keys = pa.array([f"key {rank}" for rank in ranks])
    if "key" in aggregator.column_types:
        keys = _cast(pa.array(ranks.astype(np.int64)), "key", aggregator)
    columns: dict[str, Any] = {"window": np.sort(random.integers(0, 4, count)), "key": keys}
    for column in aggregator.columns:
        if column not in columns:
            absent = random.random(count) < 0.1  # noqa: PLR2004  a tenth of all values
            values = pa.array(random.integers(0, 100, count), mask=absent)
            columns[column] = _cast(values, column, aggregator)
    return pa.table(columns)


def _cast(values: pa.Array, column: str, aggregator: Aggregator) -> pa.Array:
    """Convert small numbers to the type of the column."""
    kind = aggregator.column_types.get(column, values.type)
    for way in ((kind,), (pa.int32(), kind), (pa.string(), kind), (pa.decimal128(19), kind)):
        made = values
        try:
            for each in way:
                made = made.cast(each)
        except (pa.ArrowNotImplementedError, pa.ArrowInvalid):
            continue
        return made
    message = (
        f"{aggregator}: no values of type {kind} can be made up for column {column!r}; pass "
        "messages=... of your own"
    )
    raise ConfigurationError(message)


@dataclass(frozen=True)
class _Trial:
    """One aggregator, applied to messages that are grouped by some columns."""

    aggregator: Aggregator
    messages: pa.Table
    by: tuple[str, ...]
    same: Callable[[pa.Table, pa.Table], None]

    def partial(self, messages: pa.Table) -> pa.Table:
        return self.aggregator.partial(messages, self.by)

    def merge(self, partials: Sequence[pa.Table]) -> pa.Table:
        return self.aggregator.merge(pa.concat_tables(partials), self.by)

    def finish(self, merged: pa.Table) -> pa.Table:
        return self.aggregator.finish(merged, self.by)

    def whole(self) -> pa.Table:
        return self.finish(self.merge([self.partial(self.messages)]))

    def parts(self) -> list[pa.Table]:
        """Assign messages to parts in turn, so that keys are split; return partial aggregates."""
        part = np.arange(self.messages.num_rows) % _PARTS
        return [
            self.partial(self.messages.filter(pa.array(part == number))) for number in range(_PARTS)
        ]

    def check_tables_have_the_promised_columns(self) -> None:
        groups = [self.messages.schema.field(name) for name in self.by]
        partial = self.partial(self.messages)
        assert _typed(partial.schema) == _typed([*groups, *self.aggregator.state])
        merged = self.merge([partial, partial])
        assert _typed(merged.schema) == _typed([*groups, *self.aggregator.state])
        finished = self.finish(merged)
        assert _typed(finished.schema) == _typed([*groups, *self.aggregator.result])

    def check_no_messages_give_no_rows(self) -> None:
        nothing = self.partial(self.messages.slice(0, 0))
        assert nothing.num_rows == 0
        assert _typed(nothing.schema) == _typed(self.partial(self.messages).schema)
        assert self.merge([nothing, nothing]).num_rows == 0
        assert self.finish(nothing).num_rows == 0
        self.same(self.whole(), self.finish(self.merge([nothing, *self.parts(), nothing])))

    def check_one_message(self) -> None:
        partial = self.partial(self.messages.slice(0, 1))
        assert partial.num_rows == 1
        self.same(self.finish(partial), self.finish(self.merge([partial])))

    def check_merging_one_part_changes_nothing(self) -> None:
        partial = self.partial(self.messages)
        _assert_same(self.finish(partial), self.finish(self.merge([partial])))

    def check_any_cut_gives_the_same_result(self) -> None:
        for cut in (1, self.messages.num_rows // 3, self.messages.num_rows - 1):
            halves = [self.messages.slice(0, cut), self.messages.slice(cut)]
            self.same(self.whole(), self.finish(self.merge(list(map(self.partial, halves)))))
        self.same(self.whole(), self.finish(self.merge(self.parts())))

    def check_merge_is_commutative(self) -> None:
        parts = self.parts()
        forth, back = self.merge(parts), self.merge(parts[::-1])
        assert forth.num_rows == back.num_rows
        self.same(self.finish(forth), self.finish(back))

    def check_merge_is_associative(self) -> None:
        parts = self.parts()
        left, right = parts[0], parts[-1]
        for part in parts[1:]:
            left = self.merge([left, part])
        for part in parts[-2::-1]:
            right = self.merge([part, right])
        self.same(self.whole(), self.finish(left))
        self.same(self.whole(), self.finish(right))

    def check_state_does_not_grow_with_repetition(self) -> None:
        """Merging the same messages many times must not grow the state, because it is a summary."""
        once = self.partial(self.messages)
        often = self.merge([once] * _REPETITIONS)
        assert often.num_rows == once.num_rows
        assert often.nbytes <= _SLACK * once.nbytes, "the state grows with every message"

    def check_groups_by_struct(self) -> None:
        """A struct can be a group column, because Spark's windows are structs."""
        if "window" not in self.by:
            return
        windows = self.messages["window"].combine_chunks()
        span = pa.StructArray.from_arrays([windows, windows], names=["start", "end"])
        place = self.messages.column_names.index("window")
        spanned = _Trial(
            self.aggregator, self.messages.set_column(place, "window", span), self.by, self.same
        )
        result = spanned.finish(spanned.merge(spanned.parts()))
        starts = result["window"].combine_chunks().field("start")
        self.same(self.whole(), result.set_column(0, "window", starts))

    def check_pickled_aggregator_agrees(self) -> None:
        other = pickle.loads(pickle.dumps(self.aggregator))  # noqa: S301  pickled right here
        assert other == self.aggregator
        assert hash(other) == hash(self.aggregator)
        trial = _Trial(other, self.messages, self.by, self.same)
        _assert_same(self.whole(), trial.whole())

    def check_columns_merge_as_stated(self) -> None:
        """Merging each state column with its function in `merges` yields the same result."""
        if not isinstance(self.aggregator, Algebraic):
            return
        assert set(self.aggregator.merges) == set(self.aggregator.state.names)
        reductions = {column: (column, how) for column, how in self.aggregator.merges.items()}
        types = {field.name: field.type for field in self.aggregator.state}
        merged = reduce_groups(pa.concat_tables(self.parts()), self.by, reductions, types)
        self.same(self.whole(), self.finish(merged))

    def spelling(self) -> None:
        """An aggregator of evenkey can be restored from its spelling; others need no spelling."""
        if type(self.aggregator) in available().values():
            assert parse(str(self.aggregator)) == self.aggregator


def _typed(fields: Any) -> list[tuple[str, pa.DataType]]:
    return [(field.name, field.type) for field in fields]


def _assert_same(one: pa.Table, other: pa.Table) -> None:
    assert one.column_names == other.column_names
    first, second = (sorted(map(_comparable, table.to_pylist())) for table in (one, other))
    assert len(first) == len(second)
    for row, twin in zip(first, second, strict=True):
        assert row[0] == twin[0], f"{row} is not {twin}"
        assert np.allclose(row[1], twin[1], rtol=1e-9, atol=0, equal_nan=True), f"{row}, {twin}"


def _comparable(row: dict[str, Any]) -> tuple[str, list[float]]:
    """Split a row into a text that must be equal, and numbers that may differ by rounding."""
    floats = [value for value in row.values() if isinstance(value, float)]
    exact = {name: value for name, value in row.items() if not isinstance(value, float)}
    return repr(exact), [value if math.isfinite(value) else math.nan for value in floats]
