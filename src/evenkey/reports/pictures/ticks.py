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
_PLAIN = (1e-3, 1e7)
"""Numbers in this range are written as decimals, others as powers of ten."""

_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def fit(
    axis: Axis, side: Literal["x", "y"], panel: Axes, frame: pd.DataFrame, pixels: float
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
        All rows of the chart. A logarithmic axis has the same range in all panels, so that panels
        can be compared.
    pixels
        Length of the side, in CSS pixels.
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
    if axis.scale == "log":
        low, high = _decades(frame[axis.column])
        panel.set(**{f"{side}scale": "log", f"{side}lim": (10.0**low, 10.0**high)})
        between = (1, 2, 5) if high - low <= _FEW_DECADES else (1,)
        drawn.set_major_locator(ticker.LogLocator(subs=between, numticks=max(most, 3)))
        drawn.set_minor_formatter(ticker.NullFormatter())
    else:
        whole = bool((frame[axis.column] % 1 == 0).all())
        drawn.set_major_locator(ticker.MaxNLocator(most, integer=whole, steps=[1, 2, 5, 10]))
    drawn.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(value)))
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
    digits, _, power = f"{value:.6e}".partition("e")
    factor = f"{float(digits):g} · ".removeprefix("1 · ")
    return f"{factor}10{str(int(power)).translate(_RAISED)}"


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
