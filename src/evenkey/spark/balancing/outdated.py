"""Notice from the tasks of a stage that the profile behind its plan is out of date."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.metrics import makespan

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SLOWER = 1.2
"""Makespan by rows over that of the plan, above which the plan does not fit the rows."""
_LATER, _LEAST_SECONDS = 1.5, 1.0
"""Seconds over those predicted, and seconds more, above which the prediction does not fit."""
_HOT, _LEAST_HOT = 0.5, 0.05
"""Least part of the planned hot rows that must be found; share of hot rows that is looked at."""


def outdated(planned: NDArray[np.float64], found: NDArray[np.float64], slots: int) -> str:
    """Return how the rows of tasks differ from a plan; empty: they are about as planned.

    Parameters
    ----------
    planned, found
        float64[W], rows of each task as planned, and as they were; each has a sum above 0.
    slots
        Number of tasks that run at the same time.

    Examples
    --------
    >>> outdated(np.array([60.0, 20, 20, 20]), np.array([58.0, 22, 21, 19]), slots=2)
    ''
    >>> outdated(np.array([60.0, 20, 20, 20]), np.array([20.0, 20, 60, 20]), slots=2)
    'only 0 % of the rows of hot keys are where the profile expects them'
    """
    one, other = planned / planned.sum(), found / found.sum()
    mean = 1 / len(one)
    hot, really = (np.maximum(each - mean, 0.0) for each in (one, other))
    part = float(np.minimum(hot, really).sum() / hot.sum()) if hot.any() else 1.0
    if hot.sum() >= _LEAST_HOT and part < _HOT:
        share = f"{100 * part:.0f} %"
        return f"only {share} of the rows of hot keys are where the profile expects them"
    factor = makespan(other.tolist(), slots) / makespan(one.tolist(), slots)
    if factor > _SLOWER:
        return f"its rows take {factor:.1f}x the time that the profile predicts for their number"
    return ""


def late(predicted: float, measured: float) -> str:
    """Return by how much a stage took longer than predicted; empty: it did not.

    Examples
    --------
    >>> late(10.0, 12.0), late(0.1, 0.9)
    ('', '')
    >>> late(10.0, 20.0)
    'it took 2.0x the predicted time'
    """
    if measured > _LATER * predicted and measured > predicted + _LEAST_SECONDS:
        return f"it took {measured / predicted:.1f}x the predicted time"
    return ""
