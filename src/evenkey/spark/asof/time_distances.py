"""Distances between the times of two rows, and the tolerance, in the same unit."""

from __future__ import annotations

import datetime as dt
import math
from decimal import ROUND_FLOOR, Decimal, localcontext
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import (
    DateType,
    DecimalType,
    DoubleType,
    FloatType,
    IntegralType,
    NumericType,
    TimestampNTZType,
    TimestampType,
)

from evenkey.core.checking import number, shown
from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from pyspark.sql import Column
    from pyspark.sql.types import DataType

FRACTIONS = (FloatType, DoubleType)
"""Types of times that may be NaN."""
_DIGITS = 38
"""The most digits of a decimal."""
_LARGEST = (1 << 63) - 1
_MICROSECOND = dt.timedelta(microseconds=1)


def check_distances(kind: DataType) -> None:
    """Check that differences of two times of a type are exact.

    Raises
    ------
    ConfigurationError
        They may need more digits than a decimal has.
    """
    if isinstance(kind, DecimalType) and kind.precision == _DIGITS and kind.scale > 0:
        message = (
            f"left_time, right_time: the difference of two times of type {kind.simpleString()} may "
            f"not fit; cast both to fewer digits, such as decimal({_DIGITS - 1}, {kind.scale})"
        )
        raise ConfigurationError(message)


def check_tolerance(tolerance: object, kind: DataType) -> None:
    """Check that a tolerance suits the times.

    Raises
    ------
    ConfigurationError
        It is negative, or not a number for numbers, or not a timedelta for dates and timestamps.
    """
    if isinstance(kind, NumericType):
        if not isinstance(tolerance, Decimal):
            number("tolerance", tolerance, least=0)
            return
        negative, example = not tolerance.is_finite() or tolerance < 0, "5"
    elif isinstance(tolerance, dt.timedelta):
        negative, example = tolerance < dt.timedelta(0), "timedelta(minutes=5)"
    else:
        message = (
            f"tolerance = {shown(tolerance)}: the times are of type {kind.simpleString()}; pass a "
            "datetime.timedelta, such as timedelta(minutes=5)"
        )
        raise ConfigurationError(message)
    if negative:
        message = f"tolerance = {shown(tolerance)}: must be at least 0; pass tolerance={example}"
        raise ConfigurationError(message)


def distance(later: Column, earlier: Column, kind: DataType) -> Column:
    """Return the difference of two times of a type, in the unit of `limit`.

    If the difference does not fit its type, it is null.
    """
    if isinstance(kind, DateType):
        return F.datediff(later, earlier)
    if isinstance(kind, TimestampType):
        # Spark's own difference of timestamps is one of local times, which jump twice a year.
        return F.try_subtract(F.unix_micros(later), F.unix_micros(earlier))
    if isinstance(kind, TimestampNTZType):
        return later - earlier
    if isinstance(kind, FRACTIONS):
        difference = later.cast("double") - earlier.cast("double")
        return F.when(later == earlier, 0.0).otherwise(difference)
    if isinstance(kind, IntegralType):
        return F.try_subtract(later.cast("bigint"), earlier.cast("bigint"))
    return F.try_subtract(later, earlier)


def limit(tolerance: float | Decimal | dt.timedelta, kind: DataType) -> Column:
    """Return a checked tolerance in the unit of `distance`, rounded down to a whole one."""
    if isinstance(tolerance, dt.timedelta):
        if isinstance(kind, DateType):
            return F.lit(tolerance.days)
        if isinstance(kind, TimestampNTZType):
            return F.lit(min(tolerance, dt.timedelta(microseconds=_LARGEST)))
        return F.lit(min(tolerance // _MICROSECOND, _LARGEST))
    if isinstance(kind, DecimalType):
        return _decimal(tolerance, kind)
    if isinstance(kind, FRACTIONS):
        return F.lit(float(tolerance))
    return F.lit(min(math.floor(tolerance), _LARGEST)).cast("bigint")


def _decimal(tolerance: float | Decimal, kind: DecimalType) -> Column:
    """Return a tolerance as a decimal of the digits of a difference, rounded down."""
    wide = DecimalType(min(kind.precision + 1, _DIGITS), kind.scale)
    with localcontext(prec=2 * _DIGITS + 400):
        exact = tolerance if isinstance(tolerance, Decimal) else Decimal(str(tolerance))
        step = Decimal(1).scaleb(-kind.scale)
        most = Decimal(10**wide.precision - 1) * step
        rounded = min(exact.quantize(step, ROUND_FLOOR), most)
    return F.lit(f"{rounded:f}").cast(wide)
