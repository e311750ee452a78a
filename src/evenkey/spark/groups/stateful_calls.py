"""What runs in workers around users' stateful processors and functions; it travels by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence


class Shown(StatefulProcessor):
    """Calls a user's processor with the user's own key and columns.

    Parameters
    ----------
    processor
        The user's.
    own
        How many columns are not the user's; they stand behind the others.
    keys
        How many columns the user's key has.
    names, initial_names
        Names of the user's columns, of rows and of initial states, if they stand under other ones;
        else empty.
    """

    def __init__(
        self,
        processor: StatefulProcessor,
        own: int,
        keys: int,
        names: Sequence[str] = (),
        initial_names: Sequence[str] = (),
    ) -> None:
        self._processor = processor
        self._own = own
        self._keys = keys
        self._names = names
        self._initial_names = initial_names

    def init(self, handle: Any) -> None:
        """Begin, as the user's processor does."""
        self._processor.init(handle)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Any,
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Take a key's rows."""
        pieces = (self._shown(each, self._names) for each in rows)
        return self._processor.handleInputRows(key[: self._keys], pieces, timerValues)

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Take a timer that has expired."""
        given = key[: self._keys], timerValues, expiredTimerInfo
        return self._processor.handleExpiredTimer(*given)

    def handleInitialState(  # noqa: N802 - Spark's name
        self,
        key: Any,
        initialState: Any,  # noqa: N803
        timerValues: Any,  # noqa: N803
    ) -> None:
        """Take what a key begins with."""
        rows = self._shown(initialState, self._initial_names)
        self._processor.handleInitialState(key[: self._keys], rows, timerValues)

    def close(self) -> None:
        """End, as the user's processor does."""
        self._processor.close()

    def _shown(self, rows: Any, names: Sequence[str]) -> Any:
        if not isinstance(rows, Row):
            return shown(rows, self._own, names)
        users = len(rows) - self._own
        return Row(*(names or rows.__fields__[:users]))(*rows[:users])


def on_state(
    function: Callable[..., Any], own: int, keys: int, names: Sequence[str] = ()
) -> Callable[[Any, Any, Any], Any]:
    """Wrap a function for ``applyInPandasWithState``."""

    def call(key: Any, rows: Any, state: Any) -> Any:
        return function(key[:keys], (shown(each, own, names) for each in rows), state)

    return call


def shown(rows: Any, own: int, names: Sequence[str]) -> Any:
    """Take our columns away from a pandas DataFrame; where a timer is due there may be none.

    They go by position: beside an initial state Spark gives them other names.
    """
    for name in list(rows.columns[max(len(rows.columns) - own, 0) :]):
        del rows[name]
    if names and len(rows.columns):
        rows.columns = list(names)
    return rows
