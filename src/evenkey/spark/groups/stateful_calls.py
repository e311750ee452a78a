"""Wrappers around users' stateful processors and functions in workers, pickled by value."""

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
        The user's processor.
    own
        Number of columns that evenkey added; they are the last columns.
    keys
        Number of columns of the user's key.
    names, initial_names
        Names of the user's columns in rows and in initial states, if evenkey renamed these columns;
        empty if not.
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
        """Initialize the user's processor."""
        self._processor.init(handle)

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Any,
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Pass the rows of a key to the user's processor."""
        pieces = (self._shown(each, self._names) for each in rows)
        return self._processor.handleInputRows(key[: self._keys], pieces, timerValues)

    def handleExpiredTimer(  # noqa: N802 - Spark's name
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Any]:
        """Pass a timer that has expired to the user's processor."""
        given = key[: self._keys], timerValues, expiredTimerInfo
        return self._processor.handleExpiredTimer(*given)

    def handleInitialState(  # noqa: N802 - Spark's name
        self,
        key: Any,
        initialState: Any,  # noqa: N803
        timerValues: Any,  # noqa: N803
    ) -> None:
        """Pass the initial state of a key to the user's processor."""
        rows = self._shown(initialState, self._initial_names)
        self._processor.handleInitialState(key[: self._keys], rows, timerValues)

    def close(self) -> None:
        """Close the user's processor."""
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
    """Drop evenkey's columns from a pandas DataFrame, and restore the user's names.

    evenkey's columns are found by position, because with an initial state Spark gives these columns
    other names. When a timer expires, the DataFrame may have no columns.
    """
    for name in list(rows.columns[max(len(rows.columns) - own, 0) :]):
        del rows[name]
    if names and len(rows.columns):
        rows.columns = list(names)
    return rows
