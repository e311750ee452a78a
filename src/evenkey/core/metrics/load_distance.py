"""Load distance of workers: the measure of imbalance that the Dynamic Distributor uses."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.metrics.load import imbalance

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


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
