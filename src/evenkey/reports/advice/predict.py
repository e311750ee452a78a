"""The metrics of each grouping on a sample, by simulation."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.groupings import available
from evenkey.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkey.reports.advice.sample import Sample

YARDSTICK = "sg"
"""The grouping that all others are compared with: it has the best balance."""

BY_KEY = "kg"
"""Spark's own placement: every key as a whole on the worker of its hash."""


@dataclass(frozen=True)
class Prediction:
    """Predicted metrics of a grouping on so many workers.

    Parameters
    ----------
    workers, grouping
        W, and the grouping's spelling.
    max_load
        Messages of the most loaded worker, which determine the time.
    max_over_mean
        The same over the mean.
    dist_cost
        Workers that hold a key, on average over keys; partial results to merge for each.
    dist_cost_lower_bound
        What that must be at least at an imbalance of 5 %.
    relative_throughput
        Throughput over that of sg: the maximum load of sg over this one's.
    size_imbalance, cardinality_imbalance, key_split_ratio
        Prompt's metrics, by our reading: `evenkey.core.metrics.Spread` explains them.
    """

    workers: int
    grouping: str
    max_load: int
    max_over_mean: float
    dist_cost: float
    dist_cost_lower_bound: float
    relative_throughput: float
    size_imbalance: float
    cardinality_imbalance: float
    key_split_ratio: float


def usual_groupings() -> list[str]:
    """Name the groupings to choose from: sg and kg first.

    It leaves out those that cannot run on an endless stream, since they keep an entry for every
    key or need the frequencies of all; and peers, which are only for comparison.

    Examples
    --------
    >>> usual_groupings()
    ['sg', 'kg', 'dchoices', 'dkg', 'pkg', 'planned', 'wchoices']
    """
    usable = [
        name
        for name, grouping in available().items()
        if not (grouping.remembers_every_key or grouping.given_frequencies or grouping.peer)
    ]
    return sorted(usable, key=lambda name: (name != YARDSTICK, name != BY_KEY, name))


def worker_range(given: Sequence[int]) -> list[int]:
    """Give the worker counts to predict for: the given ones, or some around a single one.

    Examples
    --------
    >>> worker_range([32]), worker_range([10, 5])
    ([8, 16, 32, 64], [5, 10])
    """
    if len(given) > 1:
        return sorted(set(given))
    (workers,) = given
    return sorted({max(1, workers // 4), max(1, workers // 2), workers, 2 * workers})


def predict(
    sample: Sample,
    groupings: Iterable[str],
    workers: Iterable[int],
    *,
    sources: int = 5,
    on_progress: Callable[[str], None] | None = None,
) -> list[Prediction]:
    """Simulate groupings over a range of worker counts.

    ``planned`` is fitted on the sample, as it counts a batch on Spark before it routes it; a
    stream is planned from the previous epoch.

    Parameters
    ----------
    sample
        What is routed.
    groupings
        Spellings. ``sg``, which throughput is relative to, and ``kg``, which Spark does by
        itself, are predicted in any case.
    workers
        Worker counts.
    sources
        Sources, each with local loads.
    on_progress
        Called before each simulation with what it simulates.

    Returns
    -------
    list of Prediction
        By workers, then in the order of `groupings`.

    Raises
    ------
    ConfigurationError
        There is no such grouping, or a number is below 1.
    """
    predictions = []
    names = dict.fromkeys([YARDSTICK, BY_KEY, *groupings])
    for count in workers:
        balanced = 0
        for name in names:
            if on_progress is not None:
                on_progress(f"{name} on {count} workers")
            report = simulate(sample, name, workers=count, sources=sources)
            figures = report.to_json()
            max_load = int(report.loads.max())
            balanced = balanced or max_load
            predictions.append(
                Prediction(
                    count,
                    name,
                    max_load,
                    figures["max_over_mean"],
                    figures["dist_cost"],
                    figures["dist_cost_lower_bound"],
                    balanced / max_load,
                    figures["size_imbalance"],
                    figures["cardinality_imbalance"],
                    figures["key_split_ratio"],
                )
            )
    return predictions
