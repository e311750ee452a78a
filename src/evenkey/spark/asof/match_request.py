"""The checked arguments of `asof_join`, and the result from the windows that find the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import Column
from pyspark.sql import functions as F
from pyspark.sql.types import IntegerType, LongType

from evenkey.core.checking import check_one_of, check_workers
from evenkey.core.errors import ConfigurationError
from evenkey.spark.asof.both_sides import (
    COST,
    LEFT,
    LEFT_POSITION,
    POSITION,
    RIGHT,
    TIE,
    TIME,
    NumberedSide,
    together,
    united,
)
from evenkey.spark.asof.given_times import GivenTimes
from evenkey.spark.asof.match_rule import MatchRule
from evenkey.spark.asof.match_windows import window_of
from evenkey.spark.asof.matched_keys import MatchedKeys
from evenkey.spark.groups.group_keys import Keys
from evenkey.spark.groups.weights import cost_column
from evenkey.spark.keys.given_columns import check_frame, check_own_names
from evenkey.spark.plans.batch_plans import stored_workers
from evenkey.spark.plans.places import check_state
from evenkey.spark.sessions.task_slots import default_workers
from evenkey.spark.windows.column_parts import unquoted_text
from evenkey.spark.windows.given_windows import order_list
from evenkey.spark.windows.serving import Neighbours
from evenkey.spark.windows.sort_orders import SortOrder, uncuttable
from evenkey.spark.windows.window_frames import Frame
from evenkey.spark.windows.window_request import WindowRequest

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Sequence
    from decimal import Decimal
    from pathlib import Path

    from pyspark.sql import DataFrame
    from pyspark.sql.types import DataType

    from evenkey.core.stores import Store
    from evenkey.spark.asof.match_rule import Direction
    from evenkey.spark.windows.given_windows import Ordering

    Columns = str | Column | Sequence[str | Column]

_MATCH = "match"


@dataclass(frozen=True)
class MatchRequest:
    """The checked arguments of `asof_join`.

    Parameters
    ----------
    left
        The left side.
    rule
        Which rows match.
    windows
        The rows of both sides, and a window for each search.
    kind
        Type of the times.
    keeps_left
        Whether left rows without a match are in the result.
    columns
        The columns of the result: their name in the numbered sides, and the user's name.
    """

    left: NumberedSide
    rule: MatchRule
    windows: WindowRequest
    kind: DataType
    keeps_left: bool
    columns: tuple[tuple[str, str], ...]

    @classmethod
    def of(  # noqa: PLR0913 - the arguments of `asof_join`
        cls,
        left: DataFrame,
        right: DataFrame,
        on: Columns,
        left_time: str | Column,
        right_time: str | Column,
        how: str,
        workers: int | None,
        *,
        direction: Direction,
        tolerance: float | Decimal | dt.timedelta | None,
        allow_exact_matches: bool,
        right_order: Columns | None,
        state: str | Path | Store | None,
        cost: str | Column | None,
        exact: bool = False,
    ) -> MatchRequest:
        """Check the arguments of `asof_join`.

        Raises
        ------
        ConfigurationError
            An argument of `asof_join` is invalid.
        """
        for name, side in (("left", left), ("right", right)):
            check_frame(side, name)
            check_own_names(side)
            if side.isStreaming:
                message = (
                    f"{name} is a stream: a later row may be nearer in time, so no match is final; "
                    "call asof_join on each batch in foreachBatch"
                )
                raise ConfigurationError(message)
        check_one_of("how", how, ("left", "inner"))
        rule = MatchRule(direction, tolerance, allow_exact_matches)
        check_state(state)
        check_one_of("exact", exact, (True, False))
        if workers is None:
            session = left.sparkSession
            workers = stored_workers(session, state) or default_workers(session)
        check_workers(workers)
        keys = MatchedKeys.of(left, right, on, how)
        times = GivenTimes.of((left, right), (left_time, right_time))
        by_cost = cost_column(left, cost)
        order = [] if right_order is None else order_list(right, right_order, "right_order")
        sides = _numbered(keys, times, order, by_cost)
        times.check([each.frame.schema[TIME].dataType for each in sides])
        rows = together(*sides, (each.position for each in rule.searches))
        kind = rows.schema[TIME].dataType
        rule.check(kind)
        columns = _columns(left, right, keys)
        value = [TIME, *(name for name, _ in columns if name.startswith(RIGHT))]
        by_order = _orders(sides[1], order)
        orders = (
            _ascending(TIME, kind),
            _ascending(POSITION, IntegerType()),
            *by_order,
            _ascending(TIE, LongType()),
        )
        names = sides[0].keys
        found = [window_of(rows, each, value, names, orders) for each in rule.searches]
        search = [f"{direction} from {' to '.join(times.shown)}"]
        search += [each.shown for each in by_order]
        windows = WindowRequest(
            rows,
            shown=f"asof_join({', '.join(keys.shown)}; {', '.join(search)})",
            given=tuple(each for each, _ in found),
            keys=Keys(rows, names, (), keys.shown),
            orders=orders,
            frame=Frame(None, 0, is_rows=True, is_given=True),
            workers=workers,
            state=state,
            cost=None if by_cost is None else F.col(COST),
            steps=tuple(steps for _, steps in found),
            neighbours=Neighbours(0, 0, values=False),
            exact=exact,
        )
        return cls(sides[0], rule, windows, kind, how == "left", columns)

    def result(self, rows: DataFrame) -> DataFrame:
        """Return the result of the join.

        Parameters
        ----------
        rows
            The rows of both sides, with the columns of `windows`.
        """
        match = self.rule.match(self.kind)
        matched = rows.where(F.col(POSITION) == LEFT_POSITION).withColumn(_MATCH, match)
        if not self.keeps_left:
            matched = matched.where(F.col(_MATCH).isNotNull())
        left, right = (
            [name for name, _ in self.columns if name.startswith(mark)] for mark in (LEFT, RIGHT)
        )
        of_match = (F.col(_MATCH).getField(name).alias(name) for name in right)
        found = matched.select(*left, *of_match)
        if self.keeps_left:
            found = united(found, self.left.others().select(*left))
        return found.select(*(F.col(name).alias(user) for name, user in self.columns))


def _numbered(
    keys: MatchedKeys, times: GivenTimes, order: Sequence[Ordering], cost: Column | None
) -> tuple[NumberedSide, NumberedSide]:
    """Number the columns of both sides; a right row costs 1."""
    of_left = {} if cost is None else {COST: cost}
    of_right = {} if cost is None else {COST: F.lit(1)}
    of_right |= {_order_name(number): each.column for number, each in enumerate(order)}
    return (
        NumberedSide.of(keys.left, LEFT, keys.keys[0], times.left, of_left),
        NumberedSide.of(keys.right, RIGHT, keys.keys[1], times.right, of_right),
    )


def _order_name(number: int) -> str:
    return f"order_{number}"


def _ascending(name: str, kind: DataType) -> SortOrder:
    return SortOrder(name, kind, ascending=True, nulls_first=True)


def _orders(right: NumberedSide, order: Sequence[Ordering]) -> list[SortOrder]:
    found = []
    for number, each in enumerate(order):
        name = _order_name(number)
        kind = right.frame.schema[name].dataType
        sort = SortOrder(name, kind, *each.direction, unquoted_text(each.column))
        if uncuttable(sort) is not None:
            message = (
                f"right_order = {sort.text}: it is of type "
                f"{kind.simpleString()}; order by numbers, strings, dates or timestamps"
            )
            raise ConfigurationError(message)
        found.append(sort)
    return found


def _columns(left: DataFrame, right: DataFrame, keys: MatchedKeys) -> tuple[tuple[str, str], ...]:
    """Return the columns of the result, as Spark's own join orders them, by both names."""
    numbers = range(len(left.columns))
    order = (*keys.first, *(number for number in numbers if number not in keys.first))
    shown_right = (each for each in range(len(right.columns)) if each not in keys.hidden)
    return (
        *((f"{LEFT}_{number}", left.columns[number]) for number in order),
        *((f"{RIGHT}_{number}", right.columns[number]) for number in shown_right),
    )
