"""The table of the pieces of hot keys: what each piece carries over to the others."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.windows.order_pieces import PIECE
from evenkey.spark.windows.served_columns import ROWS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from evenkey.spark.windows.served_columns import Edge, Served
    from evenkey.spark.windows.sort_orders import SortOrder

_NUMBER = f"{OWN}edge_number"


@dataclass(frozen=True)
class HotRows:
    """The rows of the keys that are cut, with `PIECE`.

    Parameters
    ----------
    frame
        The rows.
    keys
        Names of the key columns, quoted.
    orders
        The order.
    """

    frame: DataFrame
    keys: Sequence[str]
    orders: Sequence[SortOrder]

    def by(self, *, of_key: bool) -> Sequence[str]:
        """Return the columns that determine a key, or else a piece."""
        return self.keys if of_key else (*self.keys, PIECE)

    def numbered(self, *, backward: bool, of_key: bool = False) -> Column:
        """Return the number of a row in its piece or key, from 1 on, from one of the ends."""
        order = (each.sorts(backward=backward) for each in self.orders)
        return F.row_number().over(Window.partitionBy(*self.by(of_key=of_key)).orderBy(*order))

    def pieces(self, aggregates: Mapping[str, Column]) -> DataFrame:
        """Return one row per piece, with aggregates of its rows, and their number in `ROWS`."""
        named = [column.alias(name) for name, column in aggregates.items()]
        grouped = self.frame.groupBy(*self.keys, PIECE)
        return grouped.agg(F.count(F.lit(1)).alias(ROWS), *named)

    def edge(self, name: str, edge: Edge) -> DataFrame:
        """Return the wanted row of each piece or key: its value as a struct in the column `name`.

        Spark drops all other rows before it shuffles (WindowGroupLimit).
        """
        rows = self.frame.where(edge.value.isNotNull()) if edge.skips_nulls else self.frame
        value = F.struct(edge.value.alias("value")).alias(name)
        number = self.numbered(backward=edge.backward, of_key=edge.of_key)
        found = rows.withColumn(_NUMBER, number).where(F.col(_NUMBER) <= edge.number)
        by = map(F.col, self.by(of_key=edge.of_key))
        return found.where(F.col(_NUMBER) == edge.number).select(*by, value)


def joined(left: DataFrame, right: DataFrame, by: Sequence[str], how: str = "left") -> DataFrame:
    """Join a small table to rows; nulls in a key are equal, and the columns of `left` stay.

    Parameters
    ----------
    left, right
        The rows, and a table that is broadcast.
    by
        Columns to join by, quoted, that both have; they are the first columns of `right`.
    how
        ``left`` or ``inner``.
    """
    others = [f"{OWN}of_table_{number}" for number in range(len(by))]
    plain = right.columns[: len(by)]
    renamed = right.withColumnsRenamed(dict(zip(plain, others, strict=True)))
    equal = (F.col(name).eqNullSafe(F.col(other)) for name, other in zip(by, others, strict=True))
    return left.join(F.broadcast(renamed), functools.reduce(operator.and_, equal), how).drop(
        *others
    )


def carries(hot: HotRows, columns: Sequence[Served]) -> DataFrame | None:
    """Return what is carried to each piece, by key and `PIECE`; None: nothing is."""
    carried = {name: column for each in columns for name, column in each.carried.items()}
    if not carried:
        return None
    table = hot.pieces({name: part for each in columns for name, part in each.parts.items()})
    kept = list(carried)
    for each in columns:
        for name, edge in each.edges.items():
            table = joined(table, hot.edge(name, edge), hot.by(of_key=edge.of_key))
            kept += [name] if edge.of_key else []
    table = table.withColumns(carried)
    return table.select(*map(F.col, (*hot.keys, PIECE, *kept)))


def totals(hot: HotRows, columns: Sequence[Served]) -> DataFrame | None:
    """Return the aggregates over all rows of each hot key, by key; None: there are none."""
    named = [column.alias(name) for each in columns for name, column in each.totals.items()]
    return hot.frame.groupBy(*hot.keys).agg(*named) if named else None
