"""Make a fold from functions, in one call instead of a subclass of `Fold`."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import pyarrow as pa  # noqa: TC002 - the example makes a table

from evenkey.aggregators.code import code_of
from evenkey.aggregators.fold import Fold
from evenkey.aggregators.states import check_state_type
from evenkey.core.checking import shown
from evenkey.core.ddl import read_columns
from evenkey.core.errors import ConfigurationError


def fold(
    *,
    columns: str | Sequence[str] = (),
    zero: Any,
    add: Callable[..., Any],
    combine: Callable[[Any, Any], Any],
    answer: Callable[[Any], Any] | None = None,
    result: str,
    state_type: str | pa.DataType | None = None,
    pickle_state: bool = False,
) -> FunctionFold:
    """Make an aggregator from functions; its state is a Python object of a declared type.

    Parameters
    ----------
    columns
        Column or columns whose values `add` gets, as Python objects. Columns of the key are
        allowed.
    zero
        The state before the first message. Either a value, of which each group gets a copy; or a
        function without arguments that returns the state, such as ``list``.
    add
        ``add(state, *values)`` returns the state after one more message; a null value is None.
    combine
        ``combine(first, second)`` merges two states into one; it must be associative and
        commutative. `add` and `combine` may change their first argument and return it.
    answer
        ``answer(state)`` returns the result: one value if `result` has one column; otherwise a
        tuple in the order of the columns, or a dict by column name. None: the state is the result.
    result
        Columns of the result and their types, as Spark writes a schema:
        ``"sessions long, revenue decimal(22,2)"``. `answer` returns a ``timestamp`` as a datetime,
        an array as a list and a struct as a dict. A datetime without a time zone counts as UTC.
    state_type
        Type of a state, as Spark writes it: ``"bigint"``, ``"array<string>"``,
        ``"struct<rows: bigint, last: timestamp>"``. In Python, a struct may be a tuple or a dict;
        an array may be a list, tuple or set; a map is a dict. When `add` and `combine` get a
        stored state, it has the Python types of `zero`.
    pickle_state
        Whether states are pickled, for states that no type describes. Reading a pickle can run
        code: anyone who can write the query's checkpoint can then run code on the workers.

    Returns
    -------
    FunctionFold
        An `Aggregator` for `evenkey.spark.aggregate`, on its own or as one of several. It has the
        methods of `Fold`; its own class is not public.

    Raises
    ------
    ConfigurationError
        Neither `state_type` nor `pickle_state` is given; a type cannot be read, a function is not
        callable, or `columns` are not names. During aggregation: an answer does not have the type
        of its column.
    RunError
        During aggregation: a state is not a value of `state_type`, or cannot be pickled.

    Notes
    -----
    States are stored as data of `state_type`, in Arrow and in Spark's checkpoint. When a state is
    read back, a ``timestamp`` is a datetime in UTC, a ``timestamp_ntz`` is a datetime without a
    time zone, and a decimal has the decimal places of its type. Spark sends the functions to the
    workers; they may be lambdas. The result does not depend on how messages are divided into parts
    if ``combine(a, b)`` equals ``combine(b, a)``, ``combine(zero, a)`` equals ``a``, and
    ``combine(a, add(b, x))`` equals ``add(combine(a, b), x)``.

    Examples
    --------
    >>> import pyarrow as pa
    >>> longest = fold(
    ...     columns="text",
    ...     zero="",
    ...     add=lambda longest, text: max(longest, text, key=lambda each: (len(each), each)),
    ...     combine=lambda *both: max(both, key=lambda each: (len(each), each)),
    ...     answer=lambda longest: (longest, len(longest)),
    ...     result="longest string, length int",
    ...     state_type="string",
    ... )
    >>> messages = pa.table({"key": ["a", "a", "b"], "text": ["x", "xyz", "no"]})
    >>> longest.finish(longest.partial(messages, by=["key"]), by=["key"]).to_pylist()
    [{'key': 'a', 'longest': 'xyz', 'length': 3}, {'key': 'b', 'longest': 'no', 'length': 2}]
    """
    names: object = (columns,) if isinstance(columns, str) else columns
    if not isinstance(names, tuple | list) or not all(isinstance(name, str) for name in names):
        message = f"fold: columns = {shown(columns)}: must be names; pass columns=['amount']"
        raise ConfigurationError(message)
    functions: dict[str, object] = {"add": add, "combine": combine}
    if answer is not None:
        functions["answer"] = answer
    for name, function in functions.items():
        if not callable(function):
            message = f"fold: {name} = {shown(function)}: must be a function"
            raise ConfigurationError(message)
    answers = read_columns("fold: result", result)
    declared = check_state_type("fold", state_type, pickle_state=pickle_state)
    return FunctionFold(tuple(names), zero, add, combine, answer, answers, declared)


@dataclass(frozen=True, eq=False)
class FunctionFold(Fold):
    """The aggregator that `fold` returns; it equals only itself."""

    name: ClassVar[str] = "fold"
    reads: tuple[str, ...]
    start: Any
    adding: Callable[..., Any]
    combining: Callable[[Any, Any], Any]
    answering: Callable[[Any], Any] | None
    answers: pa.Schema
    declared: pa.DataType | None

    def __post_init__(self) -> None:
        """Skip the checks of `Fold`: `fold` has already checked the arguments."""

    @property
    def columns(self) -> tuple[str, ...]:
        """Columns whose values `add` gets."""
        return self.reads

    @property
    def result(self) -> pa.Schema:
        """The ``result`` that `fold` got, as a schema."""
        return self.answers

    @property
    def functions_digest(self) -> str:
        """Digest of the functions that `fold` got."""
        return code_of(self.start, self.adding, self.combining, self.answering)

    @property
    def state_type(self) -> pa.DataType | None:
        """The ``state_type`` that `fold` got, as an Arrow type. None: states are pickled."""
        return self.declared

    def _declared(self) -> pa.DataType | None:
        return self.declared

    def zero(self) -> Any:
        """Make the state before the first message."""
        return self.start() if callable(self.start) else copy.deepcopy(self.start)

    def add(self, state: Any, message: tuple[Any, ...]) -> Any:
        """Add one message to a state; the user's function gets the values but not the key."""
        return self.adding(state, *message[1:])

    def combine(self, first: Any, second: Any) -> Any:
        """Merge two states into one."""
        return self.combining(first, second)

    def answer(self, state: Any) -> Mapping[str, Any]:
        """Return the result of a state, by column name.

        Raises
        ------
        ConfigurationError
            The number of values differs from the number of columns.
        """
        found = state if self.answering is None else self.answering(state)
        names = self.answers.names
        if len(names) == 1:
            return {names[0]: found}
        if isinstance(found, Mapping):
            return found
        if not isinstance(found, tuple | list) or len(found) != len(names):
            message = (
                f"{self}: answer() returned {shown(found)}; return a tuple of {len(names)} values: "
                f"{', '.join(names)}"
            )
            raise ConfigurationError(message)
        return dict(zip(names, found, strict=True))

    def __str__(self) -> str:
        """Return the columns only: functions cannot be spelled as text."""
        return f"fold({','.join(self.reads)} -> {','.join(self.answers.names)})"
