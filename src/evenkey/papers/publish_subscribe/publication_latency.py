"""The latency of publications that arrive at a rate: from their arrival to their matches."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_LEAST_FOR_P99 = 100


def latencies(
    ended: Mapping[int, float], *, offered: float, rate: float, of_epoch: int, publications: int
) -> NDArray[np.float64]:
    """Compute the latency of each publication in ms: from its arrival to the commit of its epoch.

    A publication waits for the last one of its epoch, and for the epochs before it. When it arrived
    follows from the first epoch, which the source offers when its last publication arrives. Spark
    requests this epoch earlier, and first starts the process of the source, which is no latency.

    Parameters
    ----------
    ended
        When each epoch was committed, in ms, by its number. Publications of other epochs are left
        out.
    offered
        When the source offered the first epoch, in ms.
    rate
        Publications that arrive per second.
    of_epoch
        Number of publications of each epoch except the last.
    publications
        Number of all publications.

    Returns
    -------
    float64[n]
        In the order of the publications.

    Examples
    --------
    >>> latencies({0: 250, 1: 340}, offered=200, rate=10, of_epoch=2, publications=3).tolist()
    [150.0, 50.0, 40.0]
    """
    numbers = np.arange(publications)
    epochs = numbers // of_epoch
    known = np.isin(epochs, [*ended])
    commits = np.array([ended[epoch] for epoch in epochs[known].tolist()], dtype=np.float64)
    after_first = numbers[known] + 1 - min(of_epoch, publications)
    return commits - offered - 1000 * after_first / rate


def summary(found: NDArray[np.float64]) -> dict[str, float | None] | None:
    """Return the mean, the median and the 99th percentile of latencies; None if there are none.

    Examples
    --------
    >>> summary(np.array([1.0, 2.0, 6.0]))
    {'mean': 3.0, 'p50': 2.0, 'p99': None}
    """
    if not len(found):
        return None
    p99 = float(np.percentile(found, 99)) if len(found) >= _LEAST_FOR_P99 else None
    return {"mean": float(found.mean()), "p50": float(np.median(found)), "p99": p99}
