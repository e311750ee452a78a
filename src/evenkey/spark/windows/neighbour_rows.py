"""Copy rows to the pieces next to theirs, so that frames are complete at the ends of pieces."""

from __future__ import annotations

import functools
import operator
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F
from pyspark.sql.types import DecimalType, FractionalType

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.windows.collected_tables import collected
from evenkey.spark.windows.order_pieces import PIECE
from evenkey.spark.windows.piece_tables import joined
from evenkey.spark.windows.served_columns import AFTER, BEFORE, COPY, NO_COPY, ROWS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import Column, DataFrame

    from evenkey.spark.windows.piece_tables import HotRows, Pieces
    from evenkey.spark.windows.serving import Neighbours
    from evenkey.spark.windows.sort_orders import SortOrder
    from evenkey.spark.windows.window_frames import Frame

_ROUNDING = 1e-6
_NUMBER, _POSITION, _ROWS_BEFORE, _TARGET, _LEAST, _MOST = (
    f"{OWN}neighbour_{name}"
    for name in ("number", "position", "rows_before", "target", "least", "most")
)
_BY_ROWS = {True: f"{OWN}neighbour_first_row", False: f"{OWN}neighbour_last_row"}
"""The first and the last row of a key that the windows of a piece reach."""
_BY_VALUE = {True: f"{OWN}neighbour_first_value", False: f"{OWN}neighbour_last_value"}
"""The first and the last order value that the windows of a piece reach."""
_NEXT = {True: f"{OWN}neighbour_next_first", False: f"{OWN}neighbour_next_last"}
"""The first value that the next piece reaches, and the last one that the previous piece reaches."""


def neighbour_aggregates(hot: HotRows, neighbours: Neighbours) -> dict[str, Column]:
    """Return the aggregates of a piece that `with_copies` needs."""
    value = hot.orders[0].value
    return {_LEAST: F.min(value), _MOST: F.max(value)} if neighbours.values else {}


def with_copies(rows: DataFrame, pieces: Pieces, frame: Frame, neighbours: Neighbours) -> DataFrame:
    """Add a copy of each row to each other piece of its key whose windows reach the row.

    Copies have the `PIECE` that they are copied to, and `COPY` says on which side they are.

    Parameters
    ----------
    rows
        All rows, with `PIECE`.
    pieces
        The pieces, with `neighbour_aggregates`.
    frame
        Frame of the aggregate functions.
    neighbours
        Which rows the windows reach.
    """
    bounds = collected(_bounds(pieces, frame, neighbours))
    every = rows.withColumn(COPY, F.lit(NO_COPY))
    for following, count, end in (
        (True, neighbours.before, frame.start),
        (False, neighbours.after, frame.end),
    ):
        by_value = neighbours.values and end is not None
        if count or by_value:
            copies = _copied(pieces, bounds, count, following=following, by_value=by_value)
            every = every.unionAll(copies)
    return every


def _bounds(pieces: Pieces, frame: Frame, neighbours: Neighbours) -> DataFrame:
    """Return the pieces, with the rows and the order values that their windows reach."""
    order = pieces.hot.orders[0]
    of_key = Window.partitionBy(*pieces.hot.keys).orderBy(PIECE)
    previous = of_key.rowsBetween(Window.unboundedPreceding, -1)
    table = pieces.frame.withColumn(_ROWS_BEFORE, F.coalesce(F.sum(ROWS).over(previous), F.lit(0)))
    columns = {
        _BY_ROWS[True]: F.col(_ROWS_BEFORE) + 1 - neighbours.before,
        _BY_ROWS[False]: F.col(_ROWS_BEFORE) + F.col(ROWS) + neighbours.after,
    }
    if neighbours.values:
        first, last = (_LEAST, _MOST) if order.ascending else (_MOST, _LEAST)
        keys = pieces.hot.keys
        columns[_BY_VALUE[True]] = _moved(first, order, keys, frame.start or 0, -1)
        columns[_BY_VALUE[False]] = _moved(last, order, keys, frame.end or 0, 1)
    table = table.withColumns(columns)
    if not neighbours.values:
        return table
    return table.withColumns(
        {
            _NEXT[True]: F.lead(_BY_VALUE[True]).over(of_key),
            _NEXT[False]: F.lag(_BY_VALUE[False]).over(of_key),
        }
    )


def _moved(name: str, order: SortOrder, keys: Sequence[str], distance: int, outward: int) -> Column:
    """Return an order value, moved by a distance in the direction of the order.

    Where the result does not fit its type, it is the last value of the key on that side. A
    floating-point number is moved a little further, as Spark may round it in another way.

    Parameters
    ----------
    name
        Column of the value.
    order, keys, distance
        The order, the key columns, and a bound of the frame.
    outward
        1 if rows after the value are out of the frame, -1 if those before it are.
    """
    sign = 1 if order.ascending else -1
    moved = F.try_add(F.col(name), F.lit(distance * sign))
    if isinstance(order.kind, FractionalType) and not isinstance(order.kind, DecimalType):
        return moved + F.abs(moved) * (outward * sign * _ROUNDING)
    end = F.max(_MOST) if distance * sign > 0 else F.min(_LEAST)
    of_key = end.over(Window.partitionBy(*keys))
    return F.when(F.col(name).isNotNull(), F.coalesce(moved, of_key))


def _reached(position: Column, bound: str, *, up: bool) -> Column:
    """Return whether a row lies on the side of a bound; up: from the bound on, in its order."""
    return position >= F.col(bound) if up else position <= F.col(bound)


def _copied(
    pieces: Pieces, bounds: DataFrame, count: int, *, following: bool, by_value: bool
) -> DataFrame:
    """Copy rows to the following or to the previous pieces, which reach `count` rows, or values."""
    hot = pieces.hot
    order = hot.orders[0]
    up = following == order.ascending
    found = hot.frame
    if not by_value:
        found = pieces.near(count, last=following)
    near: list[Column] = []
    if count:
        found = found.withColumn(_NUMBER, hot.numbered(backward=following))
        near.append(F.col(_NUMBER) <= count)
    of_piece = [_ROWS_BEFORE, ROWS, *([_NEXT[following]] if by_value else [])]
    if by_value:
        found = pieces.look_up(found, bounds, of_piece)
        near.append(_reached(order.value, _NEXT[following], up=up))
        found = found.where(functools.reduce(operator.or_, near))
    else:
        # First, so that Spark drops other rows early (WindowGroupLimit).
        found = pieces.look_up(found.where(near[0]), bounds, of_piece)
    reached: list[Column] = []
    reaches = []
    if count:
        from_end = F.col(ROWS) + 1 - F.col(_NUMBER)
        inside = from_end if following else F.col(_NUMBER)
        found = found.withColumn(_POSITION, F.col(_ROWS_BEFORE) + inside)
        reached.append(_reached(F.col(_POSITION), _BY_ROWS[following], up=following))
        reaches.append(_BY_ROWS[following])
    if by_value:
        reached.append(_reached(order.value, _BY_VALUE[following], up=up))
        reaches.append(_BY_VALUE[following])
    targets = bounds.select(
        *map(F.col, hot.keys), F.col(PIECE).alias(_TARGET), *map(F.col, reaches)
    )
    towards = F.col(_TARGET) > F.col(PIECE) if following else F.col(_TARGET) < F.col(PIECE)
    found = joined(found.drop(*of_piece), targets, hot.keys, "inner")
    found = found.where(towards & functools.reduce(operator.or_, reached))
    return (
        found.withColumn(PIECE, F.col(_TARGET))
        .withColumn(COPY, F.lit(BEFORE if following else AFTER))
        .drop(_NUMBER, _POSITION, _TARGET, *reaches)
    )
