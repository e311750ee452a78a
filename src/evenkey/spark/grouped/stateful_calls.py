"""What runs in workers around users' stateful processors and functions; it travels by value."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


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
    """

    def __init__(self, processor: StatefulProcessor, own: int, keys: int) -> None:
        self._processor = processor
        self._own = own
        self._keys = keys

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
        pieces = (self._shown(each) for each in rows)
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
        shown = self._shown(initialState)
        self._processor.handleInitialState(key[: self._keys], shown, timerValues)

    def close(self) -> None:
        """End, as the user's processor does."""
        self._processor.close()

    def _shown(self, rows: Any) -> Any:
        if not isinstance(rows, Row):
            return without(rows, self._own)
        return Row(*rows.__fields__[: -self._own])(*rows[: -self._own])


def on_state(function: Callable[..., Any], own: int, keys: int) -> Callable[[Any, Any, Any], Any]:
    """Wrap a function for ``applyInPandasWithState``."""

    def call(key: Any, rows: Any, state: Any) -> Any:
        return function(key[:keys], (without(each, own) for each in rows), state)

    return call


def without(rows: Any, own: int) -> Any:
    """Take our columns away from a pandas DataFrame; where a timer is due there may be none.

    They go by position: beside an initial state Spark gives them other names.
    """
    for name in list(rows.columns[-own:]):
        del rows[name]
    return rows
