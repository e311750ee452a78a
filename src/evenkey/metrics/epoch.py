"""How evenly each epoch's load lies, for itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evenkey.metrics.load import max_over_mean, stddev_percent

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.metrics.replication import PairCounts

__all__ = ["EpochMetrics", "epoch_figures"]

_FIGURES = ("max_over_mean", "stddev_percent", "dist_cost", "dist_cost_lower_bound")


@dataclass(frozen=True)
class EpochMetrics:
    """How one epoch's messages were spread.

    Parameters
    ----------
    epoch
        Its number.
    messages
        How many there were.
    keys, pairs
        Distinct keys, and distinct (worker, key) pairs.
    max_over_mean, stddev_percent, dist_cost, dist_cost_lower_bound
        As the functions of `evenkey.metrics` define them.
    """

    epoch: int
    messages: int
    keys: int
    pairs: int
    max_over_mean: float
    stddev_percent: float
    dist_cost: float
    dist_cost_lower_bound: float = 1.0

    @classmethod
    def of(cls, epoch: int, counts: PairCounts, messages: int) -> EpochMetrics:
        """Make them from what the workers got in an epoch, and how many messages that were."""
        return cls(
            epoch,
            messages,
            counts.keys,
            counts.pairs,
            max_over_mean(counts.loads),
            stddev_percent(counts.loads),
            counts.dist_cost,
            counts.dist_cost_lower_bound,
        )


def epoch_figures(epochs: Sequence[EpochMetrics]) -> dict[str, object]:
    """Give the epochs' figures under the names that all commands share.

    Returns
    -------
    dict
        ``epochs``, how many there were; ``epoch_max_over_mean``, ``epoch_stddev_percent``,
        ``epoch_dist_cost`` and ``epoch_dist_cost_lower_bound``, each with the median over them,
        ``p50``, and the largest, ``max``; both None where there is no epoch.

    Examples
    --------
    >>> epochs = [EpochMetrics(i, 9, 3, 3, load, 0.0, 1.0) for i, load in enumerate((1.5, 3.0))]
    >>> epoch_figures(epochs)["epoch_max_over_mean"]
    {'p50': 2.25, 'max': 3.0}
    """
    figures: dict[str, object] = {"epochs": len(epochs)}
    for name in _FIGURES:
        values = [getattr(each, name) for each in epochs]
        p50, most = (float(np.median(values)), max(values)) if values else (None, None)
        figures[f"epoch_{name}"] = {"p50": p50, "max": most}
    return figures
