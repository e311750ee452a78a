"""Tables with one row for each piece of a hot key, and the columns of such a table for each row."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Window
from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.windows.collected_tables import collected
from evenkey.spark.windows.order_pieces import PIECE
from evenkey.spark.windows.served_columns import ROWS, boxed
from evenkey.spark.windows.sort_orders import fields_of, is_less

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence

    from pyspark.sql import Column, DataFrame

    from evenkey.spark.windows.order_cuts import CutArrays
    from evenkey.spark.windows.served_columns import Edge, Served
    from evenkey.spark.windows.sort_orders import SortOrder

_NEAR_ROWS = {True: f"{OWN}piece_near_last", False: f"{OWN}piece_near_first"}
"""How many rows of a piece are near its last and its first row, in the table of pieces."""
_NUMBER, _LISTED, _PLACE, _ENTRIES, _LOOKED_UP = (
    f"{OWN}{name}"
    for name in ("edge_number", "edge_rows", "table_place", "table_entries", "piece_row")
)
_KEY, _FOUND, _ALONE, _SHARED = "key", "found", "alone", "shared"


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
    cuts
        The pieces.
    """

    frame: DataFrame
    keys: Sequence[str]
    orders: Sequence[SortOrder]
    cuts: CutArrays

    def by(self, *, of_key: bool) -> Sequence[str]:
        """Return the columns that determine a key, or else a piece."""
        return self.keys if of_key else (*self.keys, PIECE)

    def numbered(self, *, backward: bool, of_key: bool = False) -> Column:
        """Return the number of a row in its piece or key, from 1 on, from one of the ends."""
        order = (each.sorts(backward=backward) for each in self.orders)
        return F.row_number().over(Window.partitionBy(*self.by(of_key=of_key)).orderBy(*order))

    def is_near(self, *, last: bool) -> Column:
        """Return whether a row is among the first or the last rows of its piece, some percent."""
        ends = self.cuts.last if last else self.cuts.first
        end = [F.get(each, F.col(PIECE) - 1) for each in ends]
        at = fields_of(self.orders)
        beyond = is_less(at, end) if last else is_less(end, at)
        return end[0].isNotNull() & ~beyond


class Pieces:
    """The pieces, and tables about them.

    Parameters
    ----------
    hot
        The rows.
    count
        Number of pieces.
    aggregates
        Aggregates of the rows of a piece, by name.
    ends
        At which ends of pieces rows will be wanted: True the last ones, False the first ones.
    """

    def __init__(
        self, hot: HotRows, count: int, aggregates: Mapping[str, Column], ends: Collection[bool]
    ) -> None:
        self.hot = hot
        self._count = count
        near = {_NEAR_ROWS[last]: F.count_if(hot.is_near(last=last)) for last in sorted(ends)}
        self._aggregates = {ROWS: F.count(F.lit(1)), **aggregates, **near}

    @functools.cached_property
    def frame(self) -> DataFrame:
        """The keys of each piece, its `PIECE`, the number of its rows in `ROWS`, and aggregates."""
        named = [column.alias(name) for name, column in self._aggregates.items()]
        return collected(self.hot.frame.groupBy(*self.hot.keys, PIECE).agg(*named))

    def near(self, number: int, *, last: bool) -> DataFrame:
        """Return hot rows, with at least the first or the last `number` of each piece.

        Spark then sorts few rows. If a piece has fewer rows near its end, all its rows are there.

        Parameters
        ----------
        number, last
            How many rows are wanted, and at which end; the table has the number of rows there.
        """
        lacking = self.frame.where(F.col(_NEAR_ROWS[last]) < number).select(PIECE).collect()
        near = self.hot.is_near(last=last) | F.col(PIECE).isin([row[0] for row in lacking])
        return self.hot.frame.where(near)

    def edges(self, edges: Mapping[str, Edge]) -> DataFrame:
        """Return the edges of each piece or key, in columns with their names.

        Spark drops all other rows before it shuffles (WindowGroupLimit).

        Parameters
        ----------
        edges
            Values of the same rows, from `shared_edges`.
        """
        hot, edge = self.hot, max(edges.values(), key=lambda each: each.number)
        if edge.skips_nulls:
            rows = hot.frame.where(edge.value.isNotNull())
        else:
            # The first rows of a key are among the first rows of its pieces.
            rows = self.near(edge.number, last=edge.backward)
        number = hot.numbered(backward=edge.backward, of_key=edge.of_key)
        found = rows.withColumn(_NUMBER, number).where(F.col(_NUMBER) <= edge.number)
        by = hot.by(of_key=edge.of_key)
        values = [boxed(each.value).alias(name) for name, each in edges.items()]
        if not edge.every:
            return found.where(F.col(_NUMBER) == edge.number).select(*map(F.col, by), *values)
        listed = F.array_sort(F.collect_list(F.struct(_NUMBER, *values)), _by(_NUMBER))
        grouped = found.groupBy(*by).agg(listed.alias(_LISTED))
        return grouped.select(
            *map(F.col, by), *(F.col(_LISTED)[name].alias(name) for name in edges)
        )

    def look_up(self, rows: DataFrame, table: DataFrame, names: Sequence[str]) -> DataFrame:
        """Add columns of a table to the rows of pieces, by `PIECE`; other rows have nulls there.

        The rows read the table as an array with one place for each piece, which costs less for each
        row than a join. Keys with the same hash share their pieces. The rows of such pieces are in
        a map by key instead.

        Parameters
        ----------
        rows
            Rows with `PIECE`.
        table
            A table of `collected`, with at most one row for each piece of a key.
        names
            Its columns that are added.
        """
        places = table.sparkSession.range(1, self._count + 1, 1, 1).toDF(_PLACE)
        every = places.join(F.broadcast(table), F.col(_PLACE) == F.col(PIECE), "left")
        key = F.struct(PIECE, *self.hot.keys)
        entry = F.struct(key.alias(_KEY), F.struct(*names).alias(_FOUND))
        entries = F.collect_list(F.when(F.col(PIECE).isNotNull(), entry))
        of_places = every.groupBy(_PLACE).agg(entries.alias(_ENTRIES))
        alone = F.when(F.size(_ENTRIES) == 1, F.get(_ENTRIES, F.lit(0))[_FOUND])
        listed = F.collect_list(F.struct(_PLACE, alone.alias(_FOUND)))
        shared = F.flatten(F.collect_list(F.when(F.size(_ENTRIES) > 1, F.col(_ENTRIES))))
        tables = of_places.agg(
            F.struct(
                F.array_sort(listed, _by(_PLACE)).alias(_ALONE),
                F.map_from_entries(shared).alias(_SHARED),
            )
        ).scalar()
        of_piece = F.get(tables[_ALONE], F.col(PIECE) - 1)[_FOUND]
        of_key = F.when(F.col(PIECE) > 0, F.try_element_at(tables[_SHARED], key))
        row = F.coalesce(of_piece, of_key)
        looked_up = {each: F.col(_LOOKED_UP)[each] for each in names}
        return rows.withColumn(_LOOKED_UP, row).withColumns(looked_up).drop(_LOOKED_UP)


def _by(name: str) -> Callable[[Column, Column], Column]:
    return lambda one, other: (one[name] - other[name]).cast("int")


def shared_edges(columns: Sequence[Served]) -> list[dict[str, Edge]]:
    """Group the edges by rows, so that all values of the same rows are found together."""
    found: dict[object, dict[str, Edge]] = {}
    for each in columns:
        for name, edge in each.edges.items():
            # Which values are null differs between columns.
            alone = name if edge.skips_nulls else None
            number = 0 if edge.every else edge.number
            rows = (edge.backward, number, edge.of_key, alone)
            found.setdefault(rows, {})[name] = edge
    return [*found.values()]


def ends_of(columns: Sequence[Served]) -> set[bool]:
    """Return at which ends `Pieces.near` is wanted for edges: True for the last rows of pieces."""
    every = (edge for each in columns for edge in each.edges.values())
    return {edge.backward for edge in every if not edge.skips_nulls}


def joined(left: DataFrame, right: DataFrame, by: Sequence[str], how: str = "left") -> DataFrame:
    """Join a small table to few rows; nulls in a key are equal, and the columns of `left` stay.

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


def with_carries(rows: DataFrame, pieces: Pieces, columns: Sequence[Served]) -> DataFrame:
    """Add what is carried to the piece of each row; rows of other keys have nulls there."""
    carried = {name: column for each in columns for name, column in each.carried.items()}
    edges = shared_edges(columns)
    if not (carried or edges):
        return rows
    table, names = pieces.frame, [*carried]
    for each in edges:
        of_key = next(iter(each.values())).of_key
        # Rows that follow the search are not joined by piece: Spark would write the search out.
        found = collected(pieces.edges(each))
        table = joined(table, found, pieces.hot.by(of_key=of_key))
        if of_key:
            names += each
    # Connect refuses to add no columns.
    table = table.withColumns(carried) if carried else table
    by = pieces.hot.by(of_key=False)
    return pieces.look_up(rows, collected(table.select(*by, *names)), names)


def with_totals(rows: DataFrame, pieces: Pieces, columns: Sequence[Served]) -> DataFrame:
    """Add the aggregates over all rows of each hot key; rows of other keys have nulls there."""
    named = {name: column for each in columns for name, column in each.totals.items()}
    if not named:
        return rows
    aggregates = [column.alias(name) for name, column in named.items()]
    # The pieces of a key have consecutive numbers.
    places = F.sequence(F.min(PIECE), F.max(PIECE)).alias(PIECE)
    table = pieces.hot.frame.groupBy(*pieces.hot.keys).agg(places, *aggregates)
    return pieces.look_up(rows, collected(table.withColumn(PIECE, F.explode(PIECE))), [*named])
