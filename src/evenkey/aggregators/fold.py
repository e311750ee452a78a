"""Aggregators of users' own, written in plain Python."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from evenkey.aggregators.base import Aggregator
from evenkey.aggregators.groups import check_names, number_groups
from evenkey.checking import shown
from evenkey.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_NO_VALUES = (pa.ArrowException, TypeError, ValueError, OverflowError)


@dataclass(frozen=True)
class Fold(Aggregator):
    """Base of aggregators whose state is any Python object that pickles.

    Fill in `zero`, `add`, `combine`, `answer` and `result`; `columns`, if messages have more to
    them than their key; and `column_types`, if it takes no numbers in them but times, for
    instance. Where several columns are the key, `add` gets a dict of them. Evenkey groups
    messages, moves states between workers (one binary column, ``state``, pickled; like Spark's
    own Python state, it is to be read only from places that you trust) and builds tables.

    The result is right however messages are cut into parts if, for all states,

    - ``combine(a, b)`` equals ``combine(b, a)``, and
      ``combine(a, combine(b, c))`` equals ``combine(combine(a, b), c)``;
    - ``combine(zero(), a)`` equals ``a``;
    - ``combine(a, add(b, message))`` equals ``add(combine(a, b), message)``.

    ``evenkey.checks.aggregators.yield_aggregator_checks`` tries these on your aggregator.
    `add` and `combine` may change their first argument and return it.

    Examples
    --------
    >>> class Longest(Fold):
    ...     name = "longest"
    ...     columns = ("text",)
    ...     result = pa.schema([("longest", pa.string())])
    ...
    ...     def zero(self):
    ...         return ""
    ...
    ...     def add(self, state, message):
    ...         key, text = message
    ...         return self.combine(state, text)
    ...
    ...     def combine(self, first, second):
    ...         return max(first, second, key=lambda text: (len(text), text))
    ...
    ...     def answer(self, state):
    ...         return {"longest": state}
    >>> messages = pa.table({"key": ["a", "a", "b"], "text": ["x", "xyz", "no"]})
    >>> longest = Longest()
    >>> longest.finish(longest.partial(messages, by=["key"]), by=["key"]).to_pylist()
    [{'key': 'a', 'longest': 'xyz'}, {'key': 'b', 'longest': 'no'}]
    """

    name: ClassVar[str] = "fold"

    @abstractmethod
    def zero(self) -> Any:
        """Make the state of no messages."""

    @abstractmethod
    def add(self, state: Any, message: tuple[Any, ...]) -> Any:
        """Add one message: its key and its values of `columns`, as Python objects."""

    @abstractmethod
    def combine(self, first: Any, second: Any) -> Any:
        """Make the state of the messages of both; associative and commutative."""

    @abstractmethod
    def answer(self, state: Any) -> Mapping[str, Any]:
        """Give the result of a state: a value for each column of `result`."""

    @property
    def state(self) -> pa.Schema:
        """One binary column, ``state``."""
        return pa.schema([("state", pa.binary())])

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Add the messages of each group to its state, one by one.

        Raises
        ------
        RunError
            A state cannot be pickled.
        """
        self.bind(messages.schema)
        check_names(messages, by, self.state.names)
        numbers, groups = number_groups(messages, by)
        rows = zip(*(messages[name].to_pylist() for name in ("key", *self.columns)), strict=True)
        states: dict[int, Any] = {}
        for number, row in zip(numbers.tolist(), rows, strict=True):
            state = states[number] if number in states else self.zero()
            states[number] = self.add(state, row)
        return self._with_states(groups, states)

    def merge(self, partials: pa.Table, by: Sequence[str]) -> pa.Table:
        """Combine the states of each group."""
        numbers, groups = number_groups(partials, by)
        states: dict[int, Any] = {}
        for number, state in zip(numbers.tolist(), _states(partials), strict=True):
            states[number] = self.combine(states[number], state) if number in states else state
        return self._with_states(groups, states)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Ask each state for its answer.

        Raises
        ------
        ConfigurationError
            An answer does not have just the columns of `result`, or a value of another type.
        """
        check_names(merged, by, self.result.names)
        answers = [self.answer(state) for state in _states(merged)]
        for answer in answers:
            if set(answer) != set(self.result.names):
                message = (
                    f"{self}: answer() gave {sorted(answer)}, but result has the columns "
                    f"{sorted(self.result.names)}; make them the same"
                )
                raise ConfigurationError(message)
        columns = {name: merged[name] for name in by}
        for field in self.result:
            columns[field.name] = self._column(field, [answer[field.name] for answer in answers])
        return pa.table(columns)

    def _column(self, field: pa.Field, values: list[Any]) -> pa.Array:
        """Make a column of answers, or name the one that is no value of its type."""
        try:
            return pa.array(values, field.type)
        except _NO_VALUES:
            for value in values:
                try:
                    pa.array([value], field.type)
                except _NO_VALUES as error:
                    message = (
                        f"{self}: answer() gave {shown(value)} for {field.name!r}, which is no "
                        f"{field.type} ({error}); change the answer, or the type in result"
                    )
                    raise ConfigurationError(message) from None
            raise

    def _with_states(self, groups: pa.Table, states: Mapping[int, Any]) -> pa.Table:
        pickled = [self._pickled(states[number]) for number in range(len(states))]
        return pa.table({**_columns(groups), "state": pa.array(pickled, type=pa.binary())})

    def _pickled(self, state: Any) -> bytes:
        try:
            return pickle.dumps(state)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            message = (
                f"{self}: the state {shown(state)} cannot be pickled ({error}); keep states of "
                "types that the workers can import, such as tuples, dicts and lists"
            )
            raise RunError(message) from None


def _states(table: pa.Table) -> list[Any]:
    return [pickle.loads(state) for state in table["state"].to_pylist()]  # noqa: S301  see Fold


def _columns(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(table.column_names, table.columns, strict=True))
