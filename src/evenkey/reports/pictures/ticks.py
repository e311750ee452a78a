"""Scales, ticks and tick labels of a panel's axes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal

from evenkey.reports.pictures.drawing import matplotlib

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from evenkey.reports.pictures.axes import Axis

_CHARACTER_PIXELS = 6.8
_LINE_PIXELS = 40
_SLANTED, _UPRIGHT = 35, 90
_LEAST_SLANTED_PIXELS = 24
_FEW_DECADES = 2
_FEW_VALUES = 12
_PLAIN = (1e-3, 1e7)
"""Numbers in this range are written as decimals, others as powers of ten."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fit(
    axis: Axis,
    side: Literal["x", "y"],
    panel: Axes,
    frame: pd.DataFrame,
    pixels: float,
    *,
    at_values: bool = False,
) -> None:
    """Set scale and ticks of a panel along one side.

    Parameters
    ----------
    axis
        What the side shows.
    side
        The side.
    panel
        The panel, whose points are drawn.
    frame
        The rows that decide on the range of the side.
    pixels
        Length of the side, in CSS pixels.
    at_values
        Whether the ticks are at the values of `frame`, if these are few and their labels fit.
    """
    if frame.empty:
        return
    if axis.scale == "category":
        name_places(panel, axis.categories(frame), pixels)
        return
    ticker = matplotlib().ticker
    drawn = getattr(panel, f"{side}axis")
    longest = _CHARACTER_PIXELS * (4 + len(number(frame[axis.column].max())))
    most = max(2, int(pixels // (longest if side == "x" else _LINE_PIXELS)))
    powers = False
    if axis.scale == "log":
        low, high = _decades(frame[axis.column])
        panel.set(**{f"{side}scale": "log", f"{side}lim": (10.0**low, 10.0**high)})
        between = (1, 2, 5) if high - low <= _FEW_DECADES else (1,)
        drawn.set_major_locator(ticker.LogLocator(subs=between, numticks=max(most, 3)))
        drawn.set_minor_locator(ticker.NullLocator())
        powers = 10.0**low < _PLAIN[0] or 10.0**high > _PLAIN[1]
    else:
        whole = bool((frame[axis.column] % 1 == 0).all())
        drawn.set_major_locator(ticker.MaxNLocator(most, integer=whole, steps=[1, 2, 5, 10]))
    values = sorted(set(frame[axis.column])) if at_values else []
    if 1 < len(values) <= _FEW_VALUES and _apart(values, pixels, log=axis.scale == "log"):
        drawn.set_major_locator(ticker.FixedLocator(values))
    write = _power if powers else number
    drawn.set_major_formatter(ticker.FuncFormatter(lambda value, _: write(value)))
    if side == "y" and axis.scale == "linear":
        panel.set_ylim(bottom=min(0, frame[axis.column].min()))


def number(value: float) -> str:
    """Write the number of a tick.

    Examples
    --------
    >>> [number(each) for each in (0, 0.25, 2_500_000, 1e-5)]
    ['0', '0.25', '2,500,000', '10⁻⁵']
    """
    least, most = _PLAIN
    if value == 0 or least <= abs(value) < most:
        return f"{value + 0:,.10g}"  # without the sign of -0.0
    return _power(value)


def _power(value: float) -> str:
    """Write a number with a power of ten, such as all ticks of an axis with very small ones."""
    if value == 1:
        return "1"
    digits, _, power = f"{value:.6e}".partition("e")
    factor = f"{float(digits):g} · ".removeprefix("1 · ")
    return f"{factor}10{str(int(power)).translate(_RAISED)}"


def _apart(values: Sequence[float], pixels: float, *, log: bool) -> bool:
    """Return whether the labels of ticks at `values` fit beside each other."""
    places = [math.log10(each) for each in values] if log else list(values)
    low, high = places[0], places[-1]
    if log:  # the axis ends at powers of ten
        low, high = float(math.floor(low)), float(math.ceil(high))
    wide = [_CHARACTER_PIXELS * (len(number(each)) + 1) for each in values]
    return all(
        (after - before) / (high - low) * pixels >= (one + other) / 2
        for before, after, one, other in zip(places, places[1:], wide, wide[1:], strict=False)
    )


def name_places(panel: Axes, names: Sequence[str], pixels: float) -> None:
    """Put names below the places 0, 1, 2 ... of a panel; turn them, or leave some out, to fit."""
    angle = _turned(names, pixels)
    style: dict[str, Any] = {}
    if angle:
        style = {"rotation": angle, "ha": "right", "rotation_mode": "anchor"}
    step = math.ceil(_longest(names) * len(names) / pixels) if _numbers(names) else 1
    panel.set_xticks(range(0, len(names), step), names[::step], **style)
    panel.set_xlim(-0.6, len(names) - 0.4)


def height_of_names(names: Sequence[str], pixels: float) -> float:
    """Return by how many pixels names below a panel are higher if they are turned to fit."""
    return _longest(names) * math.sin(math.radians(_turned(names, pixels)))


def _turned(names: Sequence[str], pixels: float) -> int:
    """Return the degrees by which names are turned to fit into a length; numbers are not."""
    space = pixels / max(1, len(names))
    if _numbers(names) or _longest(names) <= space:
        return 0
    return _SLANTED if space >= _LEAST_SLANTED_PIXELS else _UPRIGHT


def _numbers(names: Sequence[str]) -> bool:
    return all(each.replace(".", "").isdecimal() for each in names)


def _longest(names: Sequence[str]) -> float:
    return _CHARACTER_PIXELS * (1 + max(map(len, names), default=0))


def _decades(values: Any) -> tuple[int, int]:
    """Return the powers of ten just below and just above all values."""
    low = math.floor(math.log10(min(values)))
    high = math.ceil(math.log10(max(values)))
    return low, max(high, low + 1)
