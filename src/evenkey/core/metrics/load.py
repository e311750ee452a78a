"""Load balance: pure functions of the load of each worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def max_over_mean(loads: ArrayLike) -> float:
    """Compute the maximum load over the mean load: from 1 (balanced) to W (all on one worker).

    Parameters
    ----------
    loads
        Messages per worker, idle workers included, shape [W].

    Returns
    -------
    float
        1 if there are no messages.

    Raises
    ------
    ConfigurationError
        `loads` is empty or holds a negative number.

    Examples
    --------
    >>> max_over_mean([6, 2, 0, 0])
    3.0
    """
    checked = _checked(loads)
    total = checked.sum()
    return float(checked.max() * len(checked) / total) if total else 1.0


def imbalance(loads: ArrayLike) -> float:
    """Compute the maximum load less the mean load, I(t), in messages.

    PKG paper, section 3: ``I(t) = max L_i(t) - avg L_i(t)``. The parameter and the errors
    are those of `max_over_mean`. The result is 0 if there are no messages.

    Examples
    --------
    >>> imbalance([6, 2, 0, 0])
    4.0
    """
    checked = _checked(loads)
    return float(checked.max() - checked.mean())


def imbalance_fraction(loads: ArrayLike) -> float:
    """Compute the imbalance divided by the number of messages, I(m)/m; 0 if there are no messages.

    Examples
    --------
    >>> imbalance_fraction([6, 2, 0, 0])
    0.5
    """
    total = _checked(loads).sum()
    return float(imbalance(loads) / total) if total else 0.0


def stddev_percent(loads: ArrayLike) -> float:
    """Compute the population standard deviation of the workers' shares, in percentage points.

    The share of a worker is its part of all messages. The result is StdDev of the DKG paper,
    equation 7, over all workers, including idle workers. It is 0 if there are no messages. The
    parameter and the errors are those of `max_over_mean`.

    Examples
    --------
    >>> stddev_percent([100, 0, 0, 0])
    43.30127018922193
    """
    checked = _checked(loads)
    total = checked.sum()
    return float(np.std(100 * checked / total)) if total else 0.0


def load_distances(loads: ArrayLike) -> NDArray[np.float64]:
    """Compute the load distance coefficient of each worker, ``LDC_i = (L_i - mean) / mean``.

    Marić et al., Dynamic Load Balancing in Stream Processing Pipelines Containing
    Stream-Static Joins (Electronics 2023), section 3.2.

    Parameters
    ----------
    loads
        Load of each worker in any unit; 0 for an idle worker. Shape [W].

    Returns
    -------
    float64[W]
        At least -1; all 0 if there is no load.

    Examples
    --------
    >>> [round(float(each), 1) for each in load_distances([60, 20, 20])]
    [0.8, -0.4, -0.4]
    """
    given = np.asarray(loads, dtype=np.float64)
    mean = given.mean() if given.size else 0.0
    return (given - mean) / mean if mean > 0 else np.zeros_like(given)


def max_load_distance(loads: ArrayLike) -> float:
    """Compute the maximum load distance coefficient, ``MLDC = max LDC_i``; 0 if there is no load.

    Example: 3 of 16 workers have a share s of the load, at least 3/16, in equal parts. The other 13
    workers have the rest, in equal parts. Then MLDC is ``16 s / 3 - 1``.

    Raises
    ------
    ConfigurationError
        `loads` is empty or holds a negative number.

    Examples
    --------
    >>> round(max_load_distance([60, 20, 20]), 2)
    0.8
    """
    above = imbalance(loads)
    mean = float(np.mean(np.asarray(loads, dtype=np.float64)))
    return above / mean if mean > 0 else 0.0


def _checked(loads: ArrayLike) -> NDArray[np.float64]:
    checked = np.asarray(loads, dtype=np.float64)
    if checked.ndim != 1 or not len(checked):
        message = f"loads of shape {checked.shape}: give one number per worker, and at least one"
        raise ConfigurationError(message)
    if (checked < 0).any():
        message = f"a load is {checked.min():g}: every load must be at least 0"
        raise ConfigurationError(message)
    return checked
