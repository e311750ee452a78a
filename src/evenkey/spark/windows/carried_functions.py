"""Functions whose pieces get a carry: lag, lead, and frames that are unbounded on one side."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, TypeGuard

from pyspark.sql import functions as F
from pyspark.sql.types import DayTimeIntervalType, DecimalType, NumericType, YearMonthIntervalType

from evenkey.spark.windows.served_columns import ROWS, Asked, Edge, Served, named, unboxed

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import Column
    from pyspark.sql.types import DataType

    from evenkey.spark.windows.column_parts import Call

SHIFTS = ("lag", "lead")
"""Functions whose frame is one row at a distance."""
_MOST_CARRIED = 10
"""Each piece carries so many rows to as many other pieces; more are copied."""
_WIDEST = 38
"""The most digits of a decimal."""
_DOUBLE_DIGITS = 15
_AVERAGE_DIGITS = 24
"""The most digits of an average that `_divided_once` computes, of values with four digits less."""
_COUNT_DIGITS = 12
"""A key has fewer rows than a number with one digit more."""
_MOST_ROWS = 1000
"""Up to this number, Spark finds the n-th row of a key without sorting the key in one task."""


def count(asked: Asked) -> Served:
    """Add the counts of the other pieces."""
    return _counted(asked, asked.value)


def count_if(asked: Asked) -> Served:
    """Add the counts of the other pieces."""
    return _counted(asked, F.when(asked.value, F.lit(1)))


def _counted(asked: Asked, value: Column) -> Served:
    own, here = named(asked, "own", F.count(asked.uncarried(value)).over(asked.framed))
    parts, part = named(asked, "part", F.count(value))
    carried, carry = named(asked, "carry", F.sum(part).over(asked.other_pieces))
    result = here + F.coalesce(carry, F.lit(0))
    return Served("carry", result, own=own, parts=parts, carried=carried)


def sum_(asked: Asked) -> Served | str:
    """Add the sums of the other pieces."""
    if not isinstance(asked.kind, NumericType | DayTimeIntervalType | YearMonthIntervalType):
        return f"sums of type {asked.kind.simpleString()} are not carried"
    if is_widest(asked.kind) and asked.kind.scale > 0:
        return f"Spark has no exact sum of two values of type {asked.kind.simpleString()}"
    own, here = named(asked, "own", F.sum(asked.uncarried(asked.value)).over(asked.framed))
    parts, part = named(asked, "part", F.sum(asked.value).cast(asked.kind))
    carried, carry = named(asked, "carry", F.sum(part).over(asked.other_pieces).cast(asked.kind))
    result = _added(here, carry).cast(asked.kind)
    return Served("carry", result, own=own, parts=parts, carried=carried)


def is_widest(kind: DataType) -> TypeGuard[DecimalType]:
    """Return whether a type is one of decimals with the most digits."""
    return isinstance(kind, DecimalType) and kind.precision >= _WIDEST


def _added(here: Column, carry: Column) -> Column:
    """Add two values of which either may be null; null only if both are."""
    return F.when(carry.isNull(), here).when(here.isNull(), carry).otherwise(here + carry)


def avg(asked: Asked) -> Served | str:
    """Divide the carried sum by the carried count."""
    if not isinstance(asked.kind, NumericType):
        return f"averages of type {asked.kind.simpleString()} are not carried"
    if isinstance(asked.kind, DecimalType) and asked.kind.precision > _AVERAGE_DIGITS:
        return f"averages of type {asked.kind.simpleString()} need more digits than decimals have"
    value, total, divided = _averaged(asked)
    steps = _counted(asked, value)
    own, here = named(asked, "sum", F.sum(asked.uncarried(value)).over(asked.framed))
    parts, part = named(asked, "part_sum", F.sum(value))
    summed = F.sum(part).over(asked.other_pieces).cast(total)
    carried, carry = named(asked, "carry_sum", summed)
    result = F.when(steps.result > 0, divided(_added(here, carry), steps.result)).cast(asked.kind)
    return Served(
        "carry",
        result,
        own={**steps.own, **own},
        parts={**steps.parts, **parts},
        carried={**steps.carried, **carried},
    )


def _averaged(asked: Asked) -> tuple[Column, str, Callable[[Column, Column], Column]]:
    """Return the values that Spark adds up for an average, the type of their sum, and a division.

    The division takes the sum and the number of values.
    """
    kind, value = asked.kind, asked.value
    if not isinstance(kind, DecimalType):
        return value.cast("double"), "double", lambda total, rows: total / rows.cast("double")
    if kind.precision > _DOUBLE_DIGITS:
        total = f"decimal({kind.precision + 6}, {kind.scale - 4})"
        return value, total, lambda total, rows: _divided_once(total, rows, kind)
    # Spark averages decimals that doubles can hold as whole numbers (its rule DecimalAggregates).
    unit = 10 ** (kind.scale - 4)

    def divided(total: Column, rows: Column) -> Column:
        return total.cast("double") / rows.cast("double") / F.lit(float(unit))

    return (value * F.lit(unit)).cast("bigint"), "bigint", divided


def _divided_once(total: Column, rows: Column, kind: DecimalType) -> Column:
    """Divide a sum by a number of rows, and round the exact quotient once, half away from zero.

    Spark's division rounds to some more digits than the average has. Rounded again, a quotient just
    below the middle of two numbers would be the upper one. The product shows it: all digits of the
    product and of the difference fit into 38.
    """
    step = F.lit(f"{Decimal(1).scaleb(-kind.scale):f}").cast(DecimalType(kind.scale, kind.scale))
    size, number = F.abs(total), rows.cast(DecimalType(_COUNT_DIGITS, 0))
    found = (size / number).cast(kind)
    above = (found * number - size).cast(DecimalType(_AVERAGE_DIGITS + 6, kind.scale))
    nearest = F.when(above + above > number * step, found - step).otherwise(found)
    return F.when(total < 0, -nearest).otherwise(nearest)


def _extreme(
    aggregate: Callable[[Column], Column], of_both: Callable[..., Column]
) -> Callable[[Asked], Served]:
    def served(asked: Asked) -> Served:
        # Copies do no harm: their rows are in the carry, and a value may count twice.
        own, here = named(asked, "own", aggregate(asked.value).over(asked.framed))
        parts, part = named(asked, "part", aggregate(asked.value))
        carried, carry = named(asked, "carry", aggregate(part).over(asked.other_pieces))
        # Of equal values such as 0.0 and -0.0, Spark keeps the first.
        both = (here, carry) if asked.after else (carry, here)
        return Served("carry", of_both(*both), own=own, parts=parts, carried=carried)

    return served


def first(asked: Asked) -> Served:
    """Take the first row of the key, or after a cut, of the piece."""
    skips = bool(asked.call.value(1, default=False))
    if asked.after:
        return _next(asked, F.first, backward=False, skips=skips)
    return _last_known(asked, F.first, backward=False, skips=skips)


def last(asked: Asked) -> Served:
    """Take the last row of the piece up to the current one, or of the key."""
    skips = bool(asked.call.value(1, default=False))
    if asked.after:
        return _last_known(asked, F.last, backward=True, skips=skips)
    return _next(asked, F.last, backward=True, skips=skips)


def _last_known(
    asked: Asked, function: Callable[..., Column], *, backward: bool, skips: bool
) -> Served:
    """Take the outermost row of the key from its outermost piece; there, the piece's own."""
    own, here = named(asked, "own", function(asked.value, skips).over(asked.framed))
    edge = Edge(asked.value, backward, skips)
    edges, there = named(asked, "edge", edge)
    carried, carry = named(asked, "carry", function(there, True).over(asked.other_pieces))  # noqa: FBT003
    result = F.when(carry.isNull(), here).otherwise(unboxed(carry))
    return Served("carry", result, own=own, edges=edges, carried=carried)


def _next(asked: Asked, function: Callable[..., Column], *, backward: bool, skips: bool) -> Served:
    """Take the row nearest to the current one; if the piece has none, that of another piece."""
    kept = F.struct(asked.value.alias("value"))
    if skips:
        kept = F.when(asked.value.isNotNull(), kept)
    own, here = named(asked, "own", function(kept, skips).over(asked.framed))
    edges, there = named(asked, "edge", Edge(asked.value, backward, skips))
    carried, carry = named(asked, "carry", function(there, True).over(asked.other_pieces))  # noqa: FBT003
    result = F.when(here.isNotNull(), here.getField("value")).otherwise(unboxed(carry))
    return Served("carry", result, own=own, edges=edges, carried=carried)


def nth_value(asked: Asked) -> Served | str:
    """Take the n-th row of the key, once the frame has as many rows."""
    number, skips = asked.call.value(1, 1), bool(asked.call.value(2, default=False))
    if asked.after:
        return "the n-th row from the current one on is not carried"
    if number > _MOST_ROWS:
        return f"Spark would sort the key in one task to find a row beyond {_MOST_ROWS}"
    counted = F.when(asked.value.isNotNull(), F.lit(1)) if skips else F.lit(1)
    steps = _counted(asked, counted)
    nth = F.call_function("nth_value", asked.value, F.lit(number), F.lit(skips)).over(asked.framed)
    own, here = named(asked, "nth", nth)
    edge = Edge(asked.value, backward=False, skips_nulls=skips, number=number, of_key=True)
    edges, there = named(asked, "edge", edge)
    total, rows = named(asked, "total", F.sum(ROWS).over(asked.every_piece))
    in_frame = F.when(steps.result >= number, unboxed(there))
    result = F.when(rows.isNull(), here).otherwise(in_frame)
    return Served(
        "carry",
        result,
        own={**steps.own, **own},
        parts=steps.parts,
        edges=edges,
        carried={**steps.carried, **total},
    )


def _moments(*, sample: bool, root: bool) -> Callable[[Asked], Served]:
    def served(asked: Asked) -> Served:
        value = asked.value.cast("double")
        masked = asked.uncarried(value)
        own, here = named(asked, "own", _of(masked, lambda column: column.over(asked.framed)))
        parts, part = named(asked, "part", _of(value, lambda column: column))
        none = _struct(F.lit(0.0), F.lit(0.0), F.lit(0.0))
        merged = F.aggregate(F.collect_list(part).over(asked.other_pieces), none, _merged)
        carried, carry = named(asked, "carry", merged)
        total, rows = named(asked, "total", F.sum(ROWS).over(asked.every_piece))
        own_function = F.call_function(asked.call.function, asked.value)
        whole, whole_key = named(asked, "whole", own_function.over(asked.framed))
        both = _merged(here, carry) if asked.after else _merged(carry, here)
        divisor = both["n"] - 1 if sample else both["n"]
        variance = F.when(divisor > 0, both["squares"] / divisor)
        return Served(
            "carry",
            F.when(rows.isNull(), whole_key).otherwise(F.sqrt(variance) if root else variance),
            own={**own, **whole},
            parts=parts,
            carried={**carried, **total},
        )

    return served


def _of(value: Column, over: Callable[[Column], Column]) -> Column:
    """Return count, mean, and sum of squares around the mean."""
    rows = over(F.count(value)).cast("double")
    squares = over(F.var_pop(value)) * rows
    return _struct(rows, F.coalesce(over(F.avg(value)), F.lit(0.0)), squares)


def _struct(n: Column, mean: Column, squares: Column) -> Column:
    """Return moments as a struct; of no rows, the squares are 0."""
    known = F.coalesce(squares, F.lit(0.0))
    return F.struct(n.alias("n"), mean.alias("mean"), known.alias("squares"))


def _merged(first: Column, second: Column) -> Column:
    """Merge the moments of two sets of rows (Chan, Golub and LeVeque 1979).

    Without the rows of one set, the square of the other mean may overflow.
    """
    rows = first["n"] + second["n"]
    share = F.when(rows > 0, second["n"] / rows).otherwise(0.0)
    delta = second["mean"] - first["mean"]
    squares = first["squares"] + second["squares"] + delta * delta * first["n"] * share
    both = _struct(rows, first["mean"] + delta * share, squares)
    return F.when(first["n"] == 0, second).when(second["n"] == 0, first).otherwise(both)


def distance_of(call: Call) -> int:
    """Return how many rows before the current one the wanted row is; below 0: after it."""
    return int(call.value(1, 1)) * (1 if call.function == "lag" else -1)


def is_carried(call: Call) -> bool:
    """Return whether `shifted` serves a call of `lag` or `lead`."""
    return 0 < abs(distance_of(call)) <= _MOST_CARRIED and call.value(2, None) is None


def shifted(asked: Asked) -> Served:
    """Take the row from the piece, or else from the rows next to it, nearest first."""
    distance = distance_of(asked.call)
    count, before = abs(distance), distance > 0
    called = F.call_function(asked.call.function, asked.value, F.lit(int(asked.call.value(1, 1))))
    own, here = named(asked, "own", called.over(asked.ordered))
    numbers, number = named(asked, "number", F.row_number().over(asked.ordered))
    edge = Edge(asked.value, backward=before, skips_nulls=False, number=count, every=True)
    edges, there = named(asked, "edge", edge)
    of_pieces = F.collect_list(there).over(asked.nearest_pieces(distance))
    nearest = F.flatten(F.reverse(of_pieces) if before else of_pieces)
    carried, carry = named(asked, "carry", F.slice(nearest, 1, count))
    # Where the row is in the piece, this is below 0, and there is no such element.
    place = F.lit(count) - number
    if not before:
        rows, total = named(asked, "rows", F.col(ROWS))
        carried, place = {**carried, **rows}, F.lit(count - 1) - (total - number)
    # If the row is outside of the piece, Spark's own result is null.
    result = F.coalesce(unboxed(F.get(carry, place.cast("int"))), here)
    return Served("carry", result, own={**own, **numbers}, edges=edges, carried=carried)


CARRIED: dict[str, Callable[[Asked], Served | str]] = {
    "count": count,
    "count_if": count_if,
    "sum": sum_,
    "avg": avg,
    "mean": avg,
    "min": _extreme(F.min, F.least),
    "max": _extreme(F.max, F.greatest),
    **dict.fromkeys(("bool_and", "every"), _extreme(F.bool_and, F.least)),
    **dict.fromkeys(("bool_or", "some", "any"), _extreme(F.bool_or, F.greatest)),
    **dict.fromkeys(("first", "first_value", "any_value"), first),
    **dict.fromkeys(("last", "last_value"), last),
    "nth_value": nth_value,
    **dict.fromkeys(("stddev", "std", "stddev_samp"), _moments(sample=True, root=True)),
    "stddev_pop": _moments(sample=False, root=True),
    **dict.fromkeys(("variance", "var_samp"), _moments(sample=True, root=False)),
    "var_pop": _moments(sample=False, root=False),
}
"""Aggregates by carry, by all names that Spark has for them."""
