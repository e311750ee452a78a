"""The nearest right row before or after each left row, as a window over the rows of both sides."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import StructField

from evenkey.spark.asof.both_sides import POSITION
from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.windows.collected_tables import why_not_collected
from evenkey.spark.windows.given_windows import Given
from evenkey.spark.windows.order_pieces import PIECE, SPLIT
from evenkey.spark.windows.served_columns import Edge, Served, unboxed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame
    from pyspark.sql.window import WindowSpec

    from evenkey.spark.windows.sort_orders import SortOrder

_FIRST = Window.unboundedPreceding


class Search(NamedTuple):
    """A search for the nearest right row on one side of a left row.

    Parameters
    ----------
    backward
        Whether the row is at or before the time of the left row; otherwise at or after it.
    position
        `POSITION` of the right rows among which it is searched.
    """

    backward: bool
    position: int

    @property
    def name(self) -> str:
        """Name of the column with the row, a struct of its values; null: there is none."""
        return "backward" if self.backward else "forward"


def window_of(
    rows: DataFrame,
    search: Search,
    value: Sequence[str],
    keys: Sequence[str],
    orders: Sequence[SortOrder],
) -> tuple[Given, Served | str]:
    """Return the column of a search over Spark's own window, and its steps on pieces of a key.

    In place of the steps, a text says why there are none.

    Parameters
    ----------
    rows
        The rows of both sides.
    search
        The search.
    value
        Names of the columns of a right row that are wanted.
    keys
        Names of the key columns.
    orders
        The order of the rows.
    """
    wanted = F.when(F.col(POSITION) == search.position, F.struct(*value))
    field = StructField(search.name, rows.select(wanted.alias("row")).schema["row"].dataType)

    def nearest(by: Sequence[str]) -> Column:
        # Spark computes frames that reach to the end in quadratic time, so the order is reversed.
        order = (each.sorts(backward=not search.backward) for each in orders)
        return _last(wanted, Window.partitionBy(*by).orderBy(*order).rowsBetween(_FIRST, 0))

    here, edge, carry = (f"{OWN}{search.name}_{step}" for step in ("own", "edge", "carry"))
    pieces = Window.partitionBy(*keys).orderBy(F.col(PIECE) if search.backward else F.desc(PIECE))
    carried = _last(F.col(edge), pieces.rowsBetween(_FIRST, -1))
    given = Given(search.name, nearest(keys), None, field)
    return given, why_not_collected(field.dataType) or Served(
        "carry",
        F.coalesce(F.col(here), unboxed(F.col(carry))),
        own={here: nearest([*keys, SPLIT])},
        edges={edge: Edge(wanted, backward=search.backward, skips_nulls=True)},
        carried={carry: carried},
    )


def _last(value: Column, window: WindowSpec) -> Column:
    return F.last(value, ignorenulls=True).over(window)
