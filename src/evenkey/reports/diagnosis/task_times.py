"""Compute how long tasks take on slots, and fit the times of tasks to their rows."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.metrics import makespan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

_FEW_TASKS = 3
"""With fewer tasks than this, the rows of the hottest key cannot be estimated."""


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


def explained(line: Line, rows: Sequence[float], seconds: Sequence[float]) -> float:
    """Return the share of the variance of the seconds that a line explains; 0 if it explains none.

    Examples
    --------
    >>> rows, seconds = [10, 10, 10, 90], [1, 1, 1, 5]
    >>> explained(fit_line(rows, seconds), rows, seconds)
    1.0
    """
    mean = sum(seconds) / len(seconds)
    spread = sum((took - mean) ** 2 for took in seconds)
    off = sum((line.at(value) - took) ** 2 for value, took in zip(rows, seconds, strict=True))
    return max(0.0, 1 - off / spread) if spread else 0.0


def hottest_rows(rows: Sequence[int]) -> float:
    """Estimate the rows of the hottest key: the rows of the largest task less the usual rows.

    A log counts rows per task, not per key. We assume that the largest task has the rows of the
    hottest key, and as many rows of other keys as the median of the other tasks. The estimate is at
    most the rows of the largest task. It is 0 if there are fewer than 3 tasks.

    Examples
    --------
    >>> hottest_rows([100, 110, 90, 900])
    800
    """
    if len(rows) < _FEW_TASKS:
        return 0
    most = max(rows)
    others = sorted(rows)[:-1]
    return most - min(most, statistics.median(others))


def fullness(values: Sequence[float]) -> float:
    """Return the largest value over the mean; 1 if all values are 0 or if there are no values."""
    total = sum(values)
    return max(values) * len(values) / total if total else 1.0
