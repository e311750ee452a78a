"""The base class of aggregators that users write in plain Python."""

from __future__ import annotations

import pickle
from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import pyarrow as pa

from evenkey.aggregators.base import Aggregator
from evenkey.aggregators.code import code_of
from evenkey.aggregators.groups import check_names, number_groups
from evenkey.aggregators.states import NO_VALUES, check_state_type, restored, stored
from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


@dataclass(frozen=True)
class Fold(Aggregator):
    """Base of aggregators whose state is a Python object of a declared type.

    A subclass defines `zero`, `add`, `combine`, `answer`, `result` and `state_type`. If the
    subclass reads columns other than the key, it also defines `columns`. If these columns must
    have certain types, such as timestamps instead of numbers, it defines `column_types`. `add`
    gets a key of several columns as a dict. The base class does the rest: it groups messages,
    stores states in one column, ``state``, merges them and builds tables.

    `state_type` is an Arrow type, or a type as Spark writes it, such as ``"bigint"`` or
    ``"struct<rows: bigint, last: timestamp>"``. In Python, a struct may be a tuple or a dict; an
    array may be a list, tuple or set; a map is a dict. When `add` and `combine` get a stored
    state, it has the Python types of ``zero()``. If no type describes the states, set
    ``pickle_state = True`` in the class: states are then pickled. Reading a pickle can run code:
    anyone who can write the checkpoint can then run code on the workers.

    The result does not depend on how messages are divided into parts if, for all states,

    - ``combine(a, b)`` equals ``combine(b, a)``, and
      ``combine(a, combine(b, c))`` equals ``combine(combine(a, b), c)``;
    - ``combine(zero(), a)`` equals ``a``;
    - ``combine(a, add(b, message))`` equals ``add(combine(a, b), message)``.

    `evenkey.checks.yield_aggregator_checks` tests these laws on your aggregator.
    `add` and `combine` may change their first argument and return it.

    Examples
    --------
    >>> import pyarrow as pa
    >>> class Longest(Fold):
    ...     name = "longest"
    ...     columns = ("text",)
    ...     result = pa.schema([("longest", pa.string())])
    ...     state_type = "string"
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
    pickle_state: ClassVar[bool] = False

    def __post_init__(self) -> None:
        """Check the parameters, and check that the type of states is declared.

        Raises
        ------
        ConfigurationError
            A parameter is invalid, or neither `state_type` nor `pickle_state` is given.
        """
        super().__post_init__()
        self._declared()

    @property
    def state_type(self) -> str | pa.DataType | None:
        """The type of a state: an Arrow type, or text as Spark writes a type. None: undeclared."""
        return None

    def _declared(self) -> pa.DataType | None:
        """Return the declared type of states; None if states are pickled."""
        what = type(self).__name__
        return check_state_type(what, self.state_type, pickle_state=self.pickle_state)

    @abstractmethod
    def zero(self) -> Any:
        """Make the state before the first message."""

    @abstractmethod
    def add(self, state: Any, message: tuple[Any, ...]) -> Any:
        """Add a message to a state; `message` is a tuple of the key and the values of `columns`."""

    @abstractmethod
    def combine(self, first: Any, second: Any) -> Any:
        """Merge the states `first` and `second`; must be associative and commutative."""

    @abstractmethod
    def answer(self, state: Any) -> Mapping[str, Any]:
        """Return the result of a state: a value for each column of `result`."""

    @property
    def functions_digest(self) -> str:
        """Digest of the functions that the class defines."""
        own = type(self)
        return code_of(own.zero, own.add, own.combine, own.answer)

    @property
    def state(self) -> pa.Schema:
        """One column, ``state``, of the declared type; binary if states are pickled."""
        declared = self._declared()
        return pa.schema([("state", pa.binary() if declared is None else declared)])

    def partial(self, messages: pa.Table, by: Sequence[str]) -> pa.Table:
        """Add the messages of each group, one by one, to the state of the group.

        Raises
        ------
        RunError
            A state is not a value of the declared type, or cannot be pickled.
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
        for number, state in zip(numbers.tolist(), self._restored(partials), strict=True):
            states[number] = self.combine(states[number], state) if number in states else state
        return self._with_states(groups, states)

    def finish(self, merged: pa.Table, by: Sequence[str]) -> pa.Table:
        """Compute the answer of each state.

        Raises
        ------
        ConfigurationError
            An answer does not have the columns of `result`, or a value does not have the type of
            its column.
        """
        check_names(merged, by, self.result.names)
        answers = [self.answer(state) for state in self._restored(merged)]
        for answer in answers:
            if set(answer) != set(self.result.names):
                message = (
                    f"{self}: answer() returned {sorted(answer)}, but result has the columns "
                    f"{sorted(self.result.names)}; make them the same"
                )
                raise ConfigurationError(message)
        columns = {name: merged[name] for name in by}
        for field in self.result:
            columns[field.name] = self._column(field, [answer[field.name] for answer in answers])
        return pa.table(columns)

    def _column(self, field: pa.Field, values: list[Any]) -> pa.Array:
        """Convert answers to a column; raise an error that shows an answer of another type."""
        try:
            return pa.array(values, field.type)
        except NO_VALUES:
            for value in values:
                try:
                    pa.array([value], field.type)
                except NO_VALUES as error:
                    message = (
                        f"{self}: answer() returned {shown(value)} for {field.name!r}, which is "
                        f"not {field.type} ({error}); change the answer, or the type in result"
                    )
                    raise ConfigurationError(message) from None
            raise

    def _restored(self, table: pa.Table) -> list[Any]:
        declared = self._declared()
        if declared is None:
            return [pickle.loads(each) for each in table["state"].to_pylist()]  # noqa: S301 - the user chose it
        return restored(table["state"], declared, self.zero())

    def _with_states(self, groups: pa.Table, states: Mapping[int, Any]) -> pa.Table:
        values = [states[number] for number in range(len(states))]
        declared = self._declared()
        if declared is None:
            column = pa.array([self._pickled(value) for value in values], type=pa.binary())
        else:
            column = self._stored(values, declared)
        return pa.table({**_columns(groups), "state": column})

    def _stored(self, values: list[Any], declared: pa.DataType) -> pa.Array:
        """Convert states to a column; raise an error that shows a state of another type."""
        try:
            return stored(values, declared)
        except NO_VALUES:
            for value in values:
                try:
                    stored([value], declared)
                except NO_VALUES as error:
                    message = (
                        f"{self}: the state {shown(value)} is not {declared} ({error}); change "
                        "the state, or state_type"
                    )
                    raise RunError(message) from None
            raise

    def _pickled(self, state: Any) -> bytes:
        try:
            return pickle.dumps(state)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            message = (
                f"{self}: the state {shown(state)} cannot be pickled ({error}); keep states of "
                "types that the workers can import, such as tuples, dicts and lists"
            )
            raise RunError(message) from None


def _columns(groups: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(groups.column_names, groups.columns, strict=True))
