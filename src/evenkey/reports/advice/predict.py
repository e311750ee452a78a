"""Predict the metrics of each grouping by simulating it on a sample."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from evenkey.groupings import available
from evenkey.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from evenkey.reports.advice.sample import Sample

YARDSTICK = "sg"
"""Shuffle grouping. All other groupings are compared with it, because it has the best balance."""

BY_KEY = "kg"
"""Key grouping, which is Spark's own placement: the hash of a key determines its only worker."""

OnSimulation: TypeAlias = "Callable[[int, int, str], None]"
"""A function that is called with the number of simulations done, their number in all, and a
description of the next simulation."""


@dataclass(frozen=True)
class Prediction:
    """Predicted metrics of a grouping on a number of workers.

    Parameters
    ----------
    workers, grouping
        Number of workers, W, and spelling of the grouping.
    max_load
        Number of messages of the most loaded worker, which determines the time.
    max_over_mean
        `max_load` over the mean load.
    dist_cost
        Mean number of workers per key; each worker of a key has a partial result to merge.
    dist_cost_lower_bound
        Lower bound of `dist_cost` for any grouping with an imbalance of at most 5 %.
    relative_throughput
        Throughput over the throughput of ``sg``: the maximum load of ``sg`` over `max_load`.
    size_imbalance, cardinality_imbalance, key_split_ratio
        Prompt's metrics as we interpret them; `evenkey.core.metrics.Spread` explains them.
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


_FIELDS = dataclasses.fields(Prediction)


def usual_groupings() -> list[str]:
    """Return the names of the groupings to choose from by default, ``sg`` and ``kg`` first.

    Groupings that keep an entry for every key, or must know the frequencies of all keys, are left
    out, because they cannot run on an endless stream. Peers are left out too, because they are only
    for comparison.

    Examples
    --------
    >>> usual_groupings()[:2]
    ['sg', 'kg']
    >>> {"dkg", "pkg", "planned"} <= {*usual_groupings()}
    True
    """
    usable = [
        name
        for name, grouping in available().items()
        if not (grouping.remembers_every_key or grouping.given_frequencies or grouping.peer)
    ]
    return sorted(usable, key=lambda name: (name != YARDSTICK, name != BY_KEY, name))


def worker_range(given: Sequence[int]) -> list[int]:
    """Return the worker counts to predict: the given counts, or some around a single count.

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
    on_progress: OnSimulation | None = None,
) -> list[Prediction]:
    """Simulate groupings over a range of worker counts.

    The plan of ``planned`` is made from the sample itself. This is as in a batch on Spark, whose
    keys ``planned`` counts before it routes them. In a stream, the plan of an epoch is made from
    the previous epoch.

    Parameters
    ----------
    sample
        Messages to route.
    groupings
        Spellings of the groupings. ``sg``, to which the throughput is relative, and ``kg``, Spark's
        own placement, are always predicted.
    workers
        Worker counts.
    sources
        Number of sources; each source knows only the loads that it sent itself.
    on_progress
        Called before each simulation. None: never.

    Returns
    -------
    list of Prediction
        The predictions, in the order of `workers`. The predictions of a worker count are in the
        order ``sg``, ``kg``, `groupings`.

    Raises
    ------
    ConfigurationError
        A grouping does not exist, or a number is below 1.
    """
    predictions: list[Prediction] = []
    names = dict.fromkeys([YARDSTICK, BY_KEY, *groupings])
    counts = [*workers]
    for count in counts:
        balanced = 0
        for name in names:
            if on_progress is not None:
                simulations = len(counts) * len(names)
                on_progress(len(predictions), simulations, f"{name} on {count} workers")
            report = simulate(sample, name, workers=count, sources=sources)
            figures = report.to_json()
            max_load = int(report.loads.max())
            balanced = balanced or max_load
            own = {"max_load": max_load, "relative_throughput": balanced / max_load}
            found = {**figures, **own, "workers": count, "grouping": name}
            predictions.append(Prediction(**{each.name: found[each.name] for each in _FIELDS}))
    return predictions
