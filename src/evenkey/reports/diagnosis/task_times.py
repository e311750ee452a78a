"""Compute how long tasks take on slots, and fit the times of tasks to their rows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.metrics import makespan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike


def skew_cost(seconds: Sequence[float], slots: int) -> float:
    """Return the wall time in seconds that is lost because some tasks take longer than others.

    The lost time is ``makespan(t_1 .. t_T; S) - ceil(T / S) * mean(t)``, at least 0. This is the
    makespan of the tasks, less the makespan of equally many tasks that all take the mean time.

    Examples
    --------
    >>> skew_cost([1, 1, 1, 5], 4)
    3.0
    """
    if not seconds:
        return 0.0
    balanced = math.ceil(len(seconds) / slots) * sum(seconds) / len(seconds)
    return max(0.0, makespan(seconds, slots) - balanced)


class Line(NamedTuple):
    """The seconds of a task as a linear function of its rows: ``fixed + slope * rows``."""

    fixed: float
    slope: float

    def at(self, rows: float) -> float:
        """Return the seconds that a task with `rows` rows takes."""
        return self.fixed + self.slope * rows


def fit_line(rows: ArrayLike, seconds: ArrayLike) -> Line:
    """Fit a line to the rows and seconds of tasks by least squares, with coefficients >= 0.

    Examples
    --------
    >>> fit_line([10, 10, 10, 90], [1, 1, 1, 5])
    Line(fixed=0.5, slope=0.05)
    """
    x, y = np.asarray(rows, float), np.asarray(seconds, float)
    spread = float(((x - x.mean()) ** 2).sum())
    slope = float(((x - x.mean()) * (y - y.mean())).sum()) / spread if spread else 0.0
    slope = max(slope, 0.0)
    fixed = float(y.mean() - slope * x.mean())
    if fixed < 0:
        fixed, slope = 0.0, float((x * y).sum() / (x * x).sum())
    return Line(round(fixed, 12), round(slope, 12))


def fullness(values: Sequence[float]) -> float:
    """Return the largest value over the mean; 1 if all values are 0 or if there are no values."""
    total = sum(values)
    return max(values) * len(values) / total if total else 1.0
