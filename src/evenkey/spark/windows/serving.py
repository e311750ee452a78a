"""Choose how each column of a window is computed on pieces; what cannot be is left to Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark.sql import functions as F

from evenkey.spark.keys.given_columns import has_collation, parts_of_type
from evenkey.spark.windows.carried_functions import (
    CARRIED,
    SHIFTS,
    distance_of,
    is_carried,
    is_widest,
    shifted,
)
from evenkey.spark.windows.collected_tables import why_not_collected
from evenkey.spark.windows.order_pieces import PIECE
from evenkey.spark.windows.ranking_functions import RANKINGS
from evenkey.spark.windows.served_columns import Asked, Served, named

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import Column

    from evenkey.spark.windows.column_parts import Call
    from evenkey.spark.windows.window_frames import Frame

_UNORDERED = frozenset(
    [
        "approx_count_distinct",
        "avg",
        "bit_and",
        "bit_or",
        "bit_xor",
        "bool_and",
        "bool_or",
        "any",
        "every",
        "some",
        "corr",
        "count",
        "count_if",
        "covar_pop",
        "covar_samp",
        "kurtosis",
        "max",
        "mean",
        "median",
        "min",
        "percentile",
        "regr_count",
        "skewness",
        "std",
        "stddev",
        "stddev_pop",
        "stddev_samp",
        "sum",
        "var_pop",
        "var_samp",
        "variance",
    ]
)
"""Aggregates whose result does not depend on the order of rows."""


_WITH_LITERALS = {
    **dict.fromkeys((*SHIFTS, "first", "first_value", "any_value", "last", "last_value"), 1),
    "nth_value": 1,
    "ntile": 0,
}
"""Functions that need literals, and the position of the first one among the arguments."""


class Neighbours(NamedTuple):
    """The rows next to a piece that its windows reach: how many, and whether some by value."""

    before: int
    after: int
    values: bool

    def __bool__(self) -> bool:
        return any(self)

    @property
    def ends(self) -> set[bool]:
        """At which ends of other pieces rows are wanted: True the last ones, False the first."""
        return {last for last, rows in ((True, self.before), (False, self.after)) if rows}


def neighbours(calls: Sequence[Call], frame: Frame) -> Neighbours:
    """Return which rows next to a piece have to be copied for functions; none: carries suffice."""
    reached = [neighbours_of(each, frame) for each in calls]
    most = Neighbours(*(max(sides) for sides in zip((0, 0, False), *reached, strict=True)))
    copied = (
        rows
        for call, rows in zip(calls, reached, strict=True)
        if not (call.function in SHIFTS and is_carried(call))
    )
    return most if any(copied) else Neighbours(0, 0, values=False)


def neighbours_of(call: Call, frame: Frame) -> Neighbours:
    """Return which rows next to a piece a function reaches."""
    if call.function in SHIFTS:
        distance = distance_of(call)
        return Neighbours(max(0, distance), max(0, -distance), values=False)
    if call.function in RANKINGS or frame.kind == "both":
        return Neighbours(0, 0, values=False)
    return Neighbours(frame.rows_before, frame.rows_after, frame.reaches_values)


def why_not(call: Call | None, frame: Frame) -> str | None:
    """Return why a column is left to Spark's own window; None: it may be computed on pieces."""
    if call is None:
        return "it is SQL text, Python code or has DISTINCT"
    name = call.function
    stars = [each.star for each in call.arguments if each.star is not None]
    if stars and (name != "count" or stars != ["*"] or len(call.arguments) > 1):
        return f"an argument of {name} is {stars[0]}"
    literals = call.arguments[_WITH_LITERALS.get(name, len(call.arguments)) :]
    if any(each.literal is None for each in literals):
        return f"an argument of {name} is an expression"
    if name in SHIFTS:
        return "it skips nulls" if call.value(3, default=False) else None
    if name in RANKINGS or frame.kind == "bounded":
        return None
    return _why_not_whole(name) if frame.kind == "both" else _why_no_carry(call, frame)


def _why_not_whole(name: str) -> str | None:
    return None if name in _UNORDERED else f"{name} depends on the order of the rows"


def _why_no_carry(call: Call, frame: Frame) -> str | None:
    name = call.function
    if name not in CARRIED:
        return f"nothing that could be carried from piece to piece gives {name}"
    if name == "count" and len(call.arguments) != 1:
        return f"count has {len(call.arguments)} arguments"
    return None if frame.nears_the_row else f"the frame {frame} ends within other pieces"


def serve(asked: Asked) -> Served | str:
    """Return the steps of a column, or why it is left to Spark."""
    name = asked.call.function
    if name in RANKINGS:
        return RANKINGS[name](asked)
    if name in SHIFTS and not asked.copies and is_carried(asked.call):
        served: Callable[[Asked], Served | str] = shifted
    elif name in SHIFTS or asked.frame.kind == "bounded":
        return _by_neighbours(asked)
    else:
        served = _joined if asked.frame.kind == "both" else CARRIED[name]
    return why_not_collected(asked.kind) or _why_not_exact(asked) or served(asked)


def _why_not_exact(asked: Asked) -> str | None:
    """Return why a value of all pieces may not be that of Spark's own window; None: it is."""
    name, kind = asked.call.function, asked.kind
    if name in ("min", "max") and any(map(has_collation, parts_of_type(kind))):
        return "texts differ that the collation makes equal, and Spark takes the first of them"
    if name in ("sum", "avg", "mean") and not asked.is_ansi and is_widest(kind):
        return f"without ANSI mode, a sum for type {kind.simpleString()} is null if it does not fit"
    return None


def _by_neighbours(asked: Asked) -> Served:
    """Compute a function by Spark alone: the copies complete the frames at the ends of a piece."""
    window = asked.ordered if asked.call.function in SHIFTS else asked.framed
    own, here = named(asked, "own", _called(asked).over(window))
    return Served("neighbours", here, own=own)


def _joined(asked: Asked) -> Served:
    own, here = named(asked, "own", _called(asked).over(asked.framed))
    totals, total = named(asked, "total", _called(asked))
    result = F.when(F.col(PIECE) > 0, total).otherwise(here)
    return Served("joined", result, own=own, totals=totals)


def _called(asked: Asked) -> Column:
    """Call a function of Spark by its name, as SQL does."""
    arguments = [each.column if each.star is None else F.lit(1) for each in asked.call.arguments]
    # In a classic session, lag and lead have a fourth argument, which SQL does not have.
    most = 3 if asked.call.function in SHIFTS else len(arguments)
    return F.call_function(asked.call.function, *arguments[:most])
