"""Restore the state of an old query in workers; pickled by value, without modules of evenkey.

`Restoring` stands between Spark and the user's processor. It notes which state variables the
processor declares, and fills them from initial states before the first rows of a key.
"""

from __future__ import annotations

import pickle
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor
from pyspark.sql.types import ArrayType, MapType, StructType, TimestampType

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from pyspark.sql.types import DataType

TIMER = -1
"""Number that stands for a timer, where a state variable has its own number."""


class Restoring(StatefulProcessor):
    """Calls a user's processor, and restores the state variables and timers of an old query.

    Parameters
    ----------
    processor
        The user's processor.
    variables
        Name, kind and types of the variables of the old query, see `Variable`. An initial state has
        the number of its variable here, or `TIMER`.
    """

    def __init__(
        self, processor: StatefulProcessor, variables: Sequence[tuple[str, str, tuple[str, ...]]]
    ) -> None:
        self._processor = processor
        self._variables = variables

    def init(self, handle: Any) -> None:
        """Initialize the user's processor, and note the variables that it declares."""
        self._handle = _Declaring(handle)
        self._fills: list[Callable[[Any], None]] | None = None
        self._processor.init(cast("Any", self._handle))

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Any,
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Pass the rows of a key to the user's processor."""
        return self._processor.handleInputRows(key, rows, timerValues)

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Pass a timer that has expired to the user's processor."""
        return self._processor.handleExpiredTimer(key, timerValues, expiredTimerInfo)

    def handleInitialState(  # noqa: N802 - Spark's name
        self,
        key: Any,  # noqa: ARG002 - Spark has set it as the key of the state variables
        initialState: Any,  # noqa: N803
        timerValues: Any,  # noqa: ARG002, N803
    ) -> None:
        """Restore variables and timers of a key; the last two columns are number and content."""
        if self._fills is None:
            self._fills = [self._fill(*each) for each in self._variables]
        pairs: Iterable[tuple[int, bytes]]
        if isinstance(initialState, Row):
            pairs = [(initialState[-2], initialState[-1])]
        else:
            pairs = zip(initialState.iloc[:, -2], initialState.iloc[:, -1], strict=True)
        for number, content in pairs:
            found = pickle.loads(content)  # noqa: S301 - `packing` pickled it in the same stage
            if number == TIMER:
                self._handle.registerTimer(found)
            else:
                self._fills[number](found)

    def close(self) -> None:
        """Close the user's processor."""
        self._processor.close()

    def _fill(self, name: str, kind: str, types: tuple[str, ...]) -> Callable[[Any], None]:
        """Return the function that writes a value of the old query into a variable.

        Raises
        ------
        ValueError
            The processor does not declare the variable, or declares it otherwise.
        """
        if name in self._handle.deleted:
            return lambda _: None
        if name not in self._handle.declared:
            message = (
                f"state variable {name!r} of the old query is not declared by the processor: "
                "declare it in init, or drop its values with handle.deleteIfExists there"
            )
            raise ValueError(message)
        declared_kind, variable = self._handle.declared[name]
        declared = (declared_kind, _types_of(variable) or types)
        if declared != (kind, types):
            message = (
                f"state variable {name!r} is declared as {declared_kind} of "
                f"{', '.join(declared[1])}, and in the old query it was {kind} of "
                f"{', '.join(types)}: declare it as in the old query"
            )
            raise ValueError(message)
        if kind == "value":
            return lambda value: variable.update(tuple(value))
        if kind == "list":
            return lambda values: variable.put([tuple(each) for each in values])
        return lambda entry: variable.updateValue(tuple(entry[0]), tuple(entry[1]))


class _Declaring:
    """A handle that notes the variables which a processor declares; otherwise Spark's handle."""

    def __init__(self, handle: Any) -> None:
        self._handle = handle
        self.declared: dict[str, tuple[str, Any]] = {}
        self.deleted: set[str] = set()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._handle, name)

    def getValueState(self, stateName: str, *rest: Any, **named: Any) -> Any:  # noqa: N802, N803 - Spark's names
        return self._noted("value", stateName, self._handle.getValueState, rest, named)

    def getListState(self, stateName: str, *rest: Any, **named: Any) -> Any:  # noqa: N802, N803
        return self._noted("list", stateName, self._handle.getListState, rest, named)

    def getMapState(self, stateName: str, *rest: Any, **named: Any) -> Any:  # noqa: N802, N803
        return self._noted("map", stateName, self._handle.getMapState, rest, named)

    def deleteIfExists(self, stateName: str) -> None:  # noqa: N802, N803
        self.deleted.add(stateName)
        self._handle.deleteIfExists(stateName)

    def _noted(
        self, kind: str, name: str, make: Callable[..., Any], rest: Any, named: dict[str, Any]
    ) -> Any:
        variable = make(name, *rest, **named)
        self.declared[name] = (kind, variable)
        return variable


def _types_of(variable: Any) -> tuple[str, ...]:
    """Return the types of a declared variable; empty if this version of Spark hides them."""
    for client in ("_valueStateClient", "_listStateClient", "_mapStateClient"):
        found = getattr(variable, client, None)
        names = ("user_key_schema", "value_schema") if client[1] == "m" else ("schema",)
        schemas = [getattr(found, name, None) for name in names]
        types = [each for each in schemas if isinstance(each, StructType)]
        if len(types) == len(names):
            return tuple(each.simpleString() for each in types)
    return ()


def packing(kinds: dict[int, DataType]) -> Callable[[int, Row], bytes]:
    """Return the function that packs a state value, or a timer, for `Restoring`.

    Parameters
    ----------
    kinds
        Type of the content of each variable, and of `TIMER`. The content is in the field of this
        position, counted from the last of them for `TIMER`, of a row that has a field for each.
    """
    exact = {number: _exactly(kind) for number, kind in kinds.items()}

    def pack(number: int, contents: Row) -> bytes:
        return pickle.dumps(exact[number](contents[number]))

    return pack


def _exactly(kind: DataType) -> Callable[[Any], Any]:
    """Return a function that makes the instants in a value of a type independent of time zones.

    Python gets an instant as a time of the worker's zone, where an hour repeats each year.
    """
    if isinstance(kind, TimestampType):
        return _instant
    if isinstance(kind, ArrayType):
        of_element = _exactly(kind.elementType)
        return lambda value: None if value is None else [of_element(each) for each in value]
    if isinstance(kind, MapType):
        of_key, of_value = _exactly(kind.keyType), _exactly(kind.valueType)
        return lambda value: (
            None if value is None else {of_key(k): of_value(v) for k, v in value.items()}
        )
    if isinstance(kind, StructType):
        of_fields = [_exactly(field.dataType) for field in kind]
        return lambda value: (
            None
            if value is None
            else tuple(of(each) for of, each in zip(of_fields, value, strict=True))
        )
    return lambda value: value


def _instant(value: datetime | None) -> datetime | None:
    return None if value is None else value.astimezone(UTC)
