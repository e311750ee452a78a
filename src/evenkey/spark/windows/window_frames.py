"""Frames of windows: the rows before and after a row that a function takes in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Window

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from typing import Literal

    from pyspark.sql.window import WindowSpec

    Kind = Literal["before", "after", "both", "bounded"]

_UNBOUNDED = (1 << 63) - 1
"""Spark's constants for an unbounded frame are this far from the current row, or further."""


@dataclass(frozen=True)
class Frame:
    """The frame of the aggregate functions of one call.

    Parameters
    ----------
    start, end
        Distance of the first and the last row of the frame, below 0 before the current row; None:
        unbounded.
    is_rows
        Whether distances are numbers of rows; otherwise they are differences of the order column.
    is_given
        Whether the user gave the frame; otherwise it is Spark's default.
    """

    start: int | None = None
    end: int | None = 0
    is_rows: bool = False
    is_given: bool = False

    @property
    def kind(self) -> Kind:
        """On which sides the frame is unbounded."""
        if self.start is None:
            return "both" if self.end is None else "before"
        return "after" if self.end is None else "bounded"

    @property
    def nears_the_row(self) -> bool:
        """Whether a frame that is unbounded on one side ends at most just before the current row.

        A frame such as ``(unbounded, -5)`` does not: in the first rows of a piece, it ends within
        an earlier piece, of which it takes in only some rows.
        """
        slack = 1 if self.is_rows else 0
        return (self.start is None or self.start <= slack) and (
            self.end is None or self.end >= -slack
        )

    @property
    def rows_before(self) -> int:
        """Number of rows before the current row that a bound of the frame reaches."""
        return max(0, -(self.start or 0)) if self.is_rows else 0

    @property
    def rows_after(self) -> int:
        """Number of rows after the current row that a bound of the frame reaches."""
        return max(0, self.end or 0) if self.is_rows else 0

    @property
    def reaches_values(self) -> bool:
        """Whether a bound is a difference of order values, other than the current value."""
        return not self.is_rows and bool(self.start or self.end)

    def over(self, window: WindowSpec) -> WindowSpec:
        """Give this frame to a window; Spark's default frame is left to Spark."""
        if not self.is_given:
            return window
        start = Window.unboundedPreceding if self.start is None else self.start
        end = Window.unboundedFollowing if self.end is None else self.end
        return window.rowsBetween(start, end) if self.is_rows else window.rangeBetween(start, end)

    def __str__(self) -> str:
        ends = [
            "unbounded" if each is None else "current row" if each == 0 else f"{each:+d}"
            for each in (self.start, self.end)
        ]
        return f"{'ROWS' if self.is_rows else 'RANGE'} {' to '.join(ends)}"


def frame_of(rows_between: object, range_between: object) -> Frame:
    """Check the arguments for the frame, and return it.

    Raises
    ------
    ConfigurationError
        Both arguments are given, or an argument is not a pair of whole numbers.
    """
    if rows_between is not None and range_between is not None:
        message = (
            f"rows_between = {shown(rows_between)} and range_between = {shown(range_between)}: a "
            "window has one frame; pass one of them"
        )
        raise ConfigurationError(message)
    if rows_between is not None:
        return Frame(*_pair("rows_between", rows_between), is_rows=True, is_given=True)
    if range_between is not None:
        return Frame(*_pair("range_between", range_between), is_given=True)
    return Frame()


def _pair(name: str, given: object) -> tuple[int | None, int | None]:
    ends = list(given) if isinstance(given, list | tuple) else []
    if len(ends) != 2 or any(isinstance(e, bool) or not isinstance(e, int) for e in ends):  # noqa: PLR2004
        message = (
            f"{name} = {shown(given)}: must be two whole numbers, the first and the last row of "
            f"the frame; pass {name}=(Window.unboundedPreceding, 0), for instance"
        )
        raise ConfigurationError(message)
    start = None if ends[0] <= -_UNBOUNDED else int(ends[0])
    end = None if ends[1] >= _UNBOUNDED else int(ends[1])
    if start is not None and end is not None and start > end:
        message = f"{name} = {shown(given)}: the frame begins after its end; swap the two numbers"
        raise ConfigurationError(message)
    return start, end
