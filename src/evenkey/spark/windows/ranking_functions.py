"""Ranking functions on pieces: numbers and ranks within a piece, moved by the rows before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey.spark.windows.order_pieces import SPLIT
from evenkey.spark.windows.served_columns import BEFORE, COPY, ROWS, Asked, Served, named
from evenkey.spark.windows.sort_orders import as_one

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column


def row_number(asked: Asked) -> Served:
    """Number the rows of a key: the number in the piece, and the rows of the previous pieces."""
    own, carried, number = _number(asked)
    return Served("carry", number.cast("int"), own=own, carried=carried)


def rank(asked: Asked) -> Served:
    """Rank the rows of a key: ties are within a piece, so previous rows all count."""
    own, carried, found = _rank(asked)
    return Served("carry", found.cast("int"), own=own, carried=carried)


def dense_rank(asked: Asked) -> Served:
    """Rank without gaps: the previous pieces count with their distinct order values."""
    # Copies are ranked apart, as their order values are among those of the previous pieces.
    window = asked.ordered
    if asked.copies:
        order = (each.sorts() for each in asked.orders)
        window = Window.partitionBy(*asked.keys, SPLIT, COPY).orderBy(*order)
    own, rank_ = named(asked, "rank", F.dense_rank().over(window))
    parts, distinct = named(asked, "values", F.count_distinct(as_one(asked.orders)))
    carried, before = named(asked, "before", F.sum(distinct).over(asked.previous))
    result = rank_ + F.coalesce(before, F.lit(0))
    return Served("carry", result.cast("int"), own=own, parts=parts, carried=carried)


def percent_rank(asked: Asked) -> Served:
    """Divide the rows before the first peer by all other rows of the key."""
    own, carried, found = _rank(asked)
    total, rows = named(asked, "total", F.sum(ROWS).over(asked.every_piece))
    whole, whole_key = named(asked, "whole", F.percent_rank().over(asked.ordered))
    ranked = F.when(rows > 1, (found - 1).cast("double") / (rows - 1).cast("double")).otherwise(0.0)
    result = F.when(rows.isNull(), whole_key).otherwise(ranked)
    return Served("carry", result, own={**own, **whole}, carried={**carried, **total})


def cume_dist(asked: Asked) -> Served:
    """Divide the rows up to the last peer by all rows of the key."""
    counted = F.count(asked.uncarried(F.lit(1), after=False)).over(asked.with_peers)
    own, here = named(asked, "peers", counted)
    carried, before = _rows_before(asked)
    total, rows = named(asked, "total", F.sum(ROWS).over(asked.every_piece))
    whole, whole_key = named(asked, "whole", F.cume_dist().over(asked.ordered))
    number = (here + before).cast("double")
    result = F.when(rows.isNull(), whole_key).otherwise(number / rows.cast("double"))
    return Served("carry", result, own={**own, **whole}, carried={**carried, **total})


def ntile(asked: Asked) -> Served:
    """Divide the rows of a key into groups: the first ``rows % groups`` have one row more."""
    groups = asked.call.value(0, 1)
    own, carried, number = _number(asked)
    total, rows = named(asked, "total", F.sum(ROWS).over(asked.every_piece))
    whole, whole_key = named(asked, "whole", F.ntile(groups).over(asked.ordered))
    size, longer = _quotient(rows, F.lit(groups)), F.pmod(rows, F.lit(groups))
    in_longer = longer * (size + 1)
    behind = _quotient(number - 1 - in_longer, F.greatest(size, F.lit(1))) + longer
    group = F.when(number <= in_longer, _quotient(number - 1, size + 1)).otherwise(behind) + 1
    result = F.when(rows.isNull(), whole_key).otherwise(group.cast("int"))
    return Served("carry", result, own={**own, **whole}, carried={**carried, **total})


def _quotient(column: Column, by: Column) -> Column:
    return F.call_function("div", column, by)


_Steps = tuple[dict[str, "Column"], dict[str, "Column"], "Column"]


def _number(asked: Asked) -> _Steps:
    """Return the own and the carried steps of the row number, and the number as a bigint."""
    counted = F.count(asked.uncarried(F.lit(1), after=False)).over(asked.running)
    own, here = named(asked, "number", counted)
    carried, before = _rows_before(asked)
    return own, carried, here + before


def _rank(asked: Asked) -> _Steps:
    """Return the own and the carried steps of the rank, and the rank as a bigint."""
    own, here = named(asked, "rank", F.rank().over(asked.ordered))
    carried, before = _rows_before(asked)
    found = here + before
    if asked.copies:
        copied = F.count(F.when(F.col(COPY) == BEFORE, F.lit(1))).over(asked.running)
        more, rows = named(asked, "copied", copied)
        own, found = {**own, **more}, found - rows
    return own, carried, found


def _rows_before(asked: Asked) -> tuple[dict[str, Column], Column]:
    carried, before = named(asked, "rows_before", F.sum(ROWS).over(asked.previous))
    return carried, F.coalesce(before, F.lit(0))


RANKINGS: dict[str, Callable[[Asked], Served]] = {
    "row_number": row_number,
    "rank": rank,
    "dense_rank": dense_rank,
    "percent_rank": percent_rank,
    "cume_dist": cume_dist,
    "ntile": ntile,
}
"""Functions whose frame is always all rows up to the current one or its peers."""
