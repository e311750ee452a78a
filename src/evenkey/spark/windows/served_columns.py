"""How one column of a window is computed on pieces of a key, so that its values are exact."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.windows.order_pieces import PIECE, SPLIT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column
    from pyspark.sql.types import DataType
    from pyspark.sql.window import WindowSpec

    from evenkey.spark.windows.column_parts import Call
    from evenkey.spark.windows.sort_orders import SortOrder
    from evenkey.spark.windows.window_frames import Frame

Way = Literal["carry", "neighbours", "joined"]

COPY = f"{OWN}piece_copy"
"""Says which rows are copies of rows of another piece: `NO_COPY`, `BEFORE` or `AFTER`. Only there
if rows are copied."""
NO_COPY, BEFORE, AFTER = 0, 1, 2
ROWS = f"{OWN}piece_rows"
"""Number of rows of a piece, in the table of pieces."""


@dataclass(frozen=True)
class Edge:
    """The value of a row at one end of a piece or of a key, `boxed`; null: there is no such row.

    Or an array of such values, of all rows up to the wanted one.

    Parameters
    ----------
    value
        Column whose value is wanted.
    backward
        Whether rows are counted from the last one.
    skips_nulls
        Whether rows whose `value` is null do not count.
    number
        Which row is wanted, from 1 on.
    of_key
        Whether the row is one of the whole key, and not of each piece.
    every
        Whether all rows up to that number are wanted, and more may be there.
    """

    value: Column
    backward: bool
    skips_nulls: bool
    number: int = 1
    of_key: bool = False
    every: bool = False


@dataclass(frozen=True)
class Served:
    """The steps that compute one column on pieces.

    All columns have names that no other column has.

    Parameters
    ----------
    way
        ``carry``: by values from other pieces of the key. ``neighbours``: by copies of rows next to
        the piece. ``joined``: by an aggregate over all rows of a hot key.
    result
        The column, from those of the other steps.
    own
        Window functions over the rows of a piece, copies included.
    parts
        Aggregates over the rows of a piece.
    edges
        Rows at the ends of pieces, whose values are `boxed`, or arrays of such values.
    carried
        Window functions over the table of the pieces of a key, which has `parts`, `edges` and
        `ROWS`.
    totals
        Aggregates over all rows of a key.
    """

    way: Way
    result: Column
    own: Mapping[str, Column] = field(default_factory=dict)
    parts: Mapping[str, Column] = field(default_factory=dict)
    edges: Mapping[str, Edge] = field(default_factory=dict)
    carried: Mapping[str, Column] = field(default_factory=dict)
    totals: Mapping[str, Column] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A column that the user wants, with all that its steps can be made from.

    Parameters
    ----------
    number
        Position of the column among those of the call.
    call
        Its function; the arguments are columns of the rows, or literals.
    kind
        Type of its result.
    frame
        Frame of the aggregate functions.
    keys
        Names of the key columns, quoted.
    orders
        The order.
    copies
        Whether pieces also have copies of rows of other pieces.
    is_ansi
        Whether a sum that does not fit its type is an error; otherwise it is null.
    """

    number: int
    call: Call
    kind: DataType
    frame: Frame
    keys: Sequence[str]
    orders: Sequence[SortOrder]
    copies: bool
    is_ansi: bool = True

    def name(self, what: str) -> str:
        """Return the name of a column of these steps."""
        return f"{OWN}window_{self.number}_{what}"

    @property
    def value(self) -> Column:
        """The first argument; ``*`` counts each row."""
        (argument, *_) = self.call.arguments
        return argument.column if argument.star is None else F.lit(1)

    @property
    def after(self) -> bool:
        """Whether values are carried from the following pieces, not from the previous ones."""
        return self.frame.kind == "after"

    @property
    def ordered(self) -> WindowSpec:
        """The rows of a piece, in order."""
        return Window.partitionBy(*self.keys, SPLIT).orderBy(*(o.sorts() for o in self.orders))

    @property
    def framed(self) -> WindowSpec:
        """The rows of a piece, in order, with the frame."""
        return self.frame.over(self.ordered)

    @property
    def running(self) -> WindowSpec:
        """The rows of a piece up to the current one."""
        return self.ordered.rowsBetween(Window.unboundedPreceding, 0)

    @property
    def with_peers(self) -> WindowSpec:
        """The rows of a piece up to the last one with the current order value."""
        return self.ordered.rangeBetween(Window.unboundedPreceding, 0)

    @property
    def other_pieces(self) -> WindowSpec:
        """The pieces of a key from which values are carried."""
        return self.following if self.after else self.previous

    @property
    def previous(self) -> WindowSpec:
        """The pieces of a key before the current one."""
        return self._pieces.rowsBetween(Window.unboundedPreceding, -1)

    @property
    def following(self) -> WindowSpec:
        """The pieces of a key after the current one."""
        return self._pieces.rowsBetween(1, Window.unboundedFollowing)

    @property
    def every_piece(self) -> WindowSpec:
        """All pieces of a key."""
        return self._pieces.rowsBetween(Window.unboundedPreceding, Window.unboundedFollowing)

    def nearest_pieces(self, count: int) -> WindowSpec:
        """Return so many pieces of a key before the current one; below 0: after it."""
        return self._pieces.rowsBetween(*((-count, -1) if count > 0 else (1, -count)))

    @property
    def _pieces(self) -> WindowSpec:
        return Window.partitionBy(*self.keys).orderBy(PIECE)

    def uncarried(self, value: Column, *, after: bool | None = None) -> Column:
        """Make a value null in the copies whose rows are in the carried values already."""
        if not self.copies:
            return value
        side = AFTER if (self.after if after is None else after) else BEFORE
        return F.when(F.col(COPY) != side, value)


def boxed(value: Column) -> Column:
    """Return a value in an array, which is empty for null; so the array itself is never null."""
    return F.when(value.isNull(), F.array()).otherwise(F.array(value))


def unboxed(box: Column) -> Column:
    """Return the value that was `boxed`; null also if there is no box."""
    return F.get(box, F.lit(0))


def named(asked: Asked, what: str, column: Any) -> tuple[dict[str, Any], Column]:
    """Name a step, and return it in a dict, with the column of that name."""
    name = asked.name(what)
    return {name: column}, F.col(name)
