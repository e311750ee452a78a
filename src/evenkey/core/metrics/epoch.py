"""Load balance of single epochs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.metrics.figures import Spread
from evenkey.core.metrics.seen import Seen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from evenkey.core.metrics.replication import LoadCounts


@dataclass(frozen=True, kw_only=True)
class EpochMetrics(Spread):
    """How the messages of one epoch were spread over workers.

    Parameters
    ----------
    epoch
        Number of the epoch.
    """

    epoch: int

    @classmethod
    def of_epoch(cls, epoch: int, counts: LoadCounts, messages: int) -> Self:
        """Compute the metrics of an epoch from the counts per worker and the number of messages."""
        return cls(epoch=epoch, **vars(Spread.of(Seen(counts, messages))))


def epoch_figures(epochs: Sequence[EpochMetrics]) -> dict[str, object]:
    """Summarize the figures of epochs, under the names that all commands use.

    Returns
    -------
    dict
        Each figure whose values are not whole numbers, such as ``epoch_max_over_mean`` or
        ``epoch_dist_cost``, is a dict with the median over the epochs,
        ``p50``, and the largest value, ``max``. Both are None if no epoch has a value.

    Examples
    --------
    >>> from evenkey.core.metrics import PairCounts
    >>> epochs = []
    >>> for number, workers in enumerate([[0, 0, 0, 1], [0, 0, 1, 1]]):
    ...     counts = PairCounts(workers=2)
    ...     counts.add(np.array(workers), np.arange(4, dtype=np.uint64))
    ...     epochs.append(EpochMetrics.of_epoch(number, counts, messages=4))
    >>> epoch_figures(epochs)["epoch_max_over_mean"]
    {'p50': 1.25, 'max': 1.5}
    """
    names = [each.name for each in Spread.declared() if each.of_epoch and not each.whole]
    records = [each.named(of_epoch=True) for each in epochs]
    figures: dict[str, object] = {}
    for name in names:
        # A figure is NaN if an older version of evenkey recorded the epoch without the figure.
        values = [each for each in map(itemgetter(name), records) if not math.isnan(each)]
        p50, most = (float(np.median(values)), max(values)) if values else (None, None)
        figures[name] = {"p50": p50, "max": most}
    return figures
