"""Every figure of evenkey: its name, unit, meaning and computation, and where it is shown.

Records of epochs, reports, histories, exporters, tables, the live page, Grafana's panels and the
table in `docs/figures.md` are made from these declarations. To add a figure, add a field here.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from operator import itemgetter
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.metrics.base import Figures, figure
from evenkey.core.metrics.load import (
    imbalance,
    imbalance_fraction,
    max_load_distance,
    max_over_mean,
    stddev_percent,
)
from evenkey.core.metrics.seen import LEAST_FOR_P99, Seen

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

    from evenkey.core.metrics.base import Figure, Place
    from evenkey.core.metrics.replication import LoadCounts


@dataclass(frozen=True, kw_only=True)
class Balance(Figures):
    """Load balance of workers, computed from ``messages`` and ``loads``."""

    messages: int = figure(
        "messages",
        "Messages; in a join, publications.",
        lambda seen: seen.messages,
        shown=("card",),
        counts_up=True,
    )
    max_over_mean: float = figure(
        "",
        "The maximum load of a worker divided by the mean load.",
        lambda seen: max_over_mean(seen.loads),
        label="max/mean",
        shown=("card", "chart", "summary", "comparison", "simulation"),
        decimals=3,
        least=1,
    )
    imbalance_fraction: float = figure(
        "fraction",
        "The maximum load of a worker less the mean load, divided by the total load: I(m)/m.",
        lambda seen: imbalance_fraction(seen.loads),
    )
    stddev_percent: float = figure(
        "percent",
        "Standard deviation of the workers' shares of the load (STD_DEV).",
        lambda seen: stddev_percent(seen.loads),
        label="StdDev",
        shown=("card", "chart", "summary", "comparison", "simulation"),
    )


@dataclass(frozen=True, kw_only=True)
class Spread(Balance):
    """How messages were spread over workers, computed from a `Seen`."""

    keys: int = figure("keys", "Distinct keys.", lambda seen: seen.counts.keys)
    pairs: int = figure("pairs", "Distinct (worker, key) pairs.", lambda seen: seen.counts.pairs)
    dist_cost: float = figure(
        "",
        "Mean number of workers per key (DIST_COST).",
        lambda seen: seen.counts.dist_cost,
        label="DistCost",
        shown=("card", "chart", "summary", "comparison", "simulation"),
        least=1,
    )
    dist_cost_lower_bound: float = figure(
        "",
        "Lower bound of DistCost at an imbalance of 5 %.",
        lambda seen: seen.counts.dist_cost_lower_bound,
    )
    moved_keys: float = figure(
        "keys",
        "Keys of earlier epochs on workers that had not held them, counted once per such worker.",
        lambda seen: seen.counts.moved_keys,
        shown=("chart",),
        decimals=0,
        counts_up=True,
    )
    moved_load: float = figure(
        "percent",
        "Load of the moved keys on these workers, of all load.",
        lambda seen: 100 * seen.counts.moved_load,
        shown=("chart",),
    )
    size_imbalance: float = figure(
        "load",
        "The maximum load of a worker less the mean load (our reading of the size imbalance of the "
        "Prompt paper).",
        lambda seen: imbalance(seen.loads),
        decimals=0,
    )
    cardinality_imbalance: float = figure(
        "keys",
        "The maximum number of distinct keys of a worker less the mean number (our reading of the "
        "BCI of the Prompt paper).",
        lambda seen: imbalance(seen.counts.keys_held),
        label="BCI",
        shown=("simulation", "comparison"),
        decimals=0,
    )
    key_split_ratio: float = figure(
        "",
        "Key fragments divided by keys (our reading of the key split ratio of the Prompt paper): "
        "the same number as DistCost.",
        lambda seen: seen.counts.dist_cost,
    )


@dataclass(frozen=True, kw_only=True)
class RunMetrics(Spread):
    """How all messages of a run were spread, computed from a `Seen`.

    Loads, and all figures computed from loads, are in messages; if weights of messages are
    observed, loads are in weights.
    """

    loads: tuple[int, ...] = figure(
        "load",
        "Load of each worker: its messages, their weights, or the quantity that a join's mode "
        "balances.",
        lambda seen: tuple(map(int, seen.loads)),
    )
    average_imbalance_fraction: float = figure(
        "fraction",
        "Mean over time of I(t), the maximum load less the mean load, divided by the total load.",
        lambda seen: seen.average_imbalance / max(1, int(seen.loads.sum())),
        label="mean I/m",
        scope="run",
        shown=("simulation",),
    )


@dataclass(frozen=True, kw_only=True)
class Pace(Figures):
    """Throughput and durations, computed from a `Paced`.

    The figures of a run cover all its processes: the time between two processes does not count.
    """

    epochs: int = figure(
        "epochs",
        "Epochs (micro-batches) with input. Epochs are numbered from 0; an epoch that only closes "
        "windows has a number too, but is not counted.",
        lambda seen: len(seen.epoch_ms),
        scope="run",
        shown=("card", "summary"),
        counts_up=True,
    )
    messages_per_second: float = figure(
        "messages/s",
        "Messages divided by the makespan, or by the duration of the epoch (THROUGHPUT).",
        lambda seen: seen.messages_per_second,
        label="throughput",
        shown=("card", "chart", "summary", "comparison"),
        decimals=0,
    )
    makespan_ms: float = figure(
        "ms",
        "Time from the start of the first epoch to the end of the last epoch, including the "
        "closing of windows (DURATION).",
        lambda seen: seen.makespan_ms,
        label="makespan",
        scope="run",
        shown=("card", "summary", "comparison"),
        decimals=0,
    )
    duration_p50_ms: float = figure(
        "ms",
        "Median of the durations of epochs with input.",
        lambda seen: seen.percentile(50),
        label="epoch duration p50",
        scope="run",
        shown=("card", "summary"),
        decimals=0,
    )
    duration_p99_ms: float = figure(
        "ms",
        "99th percentile of the durations of epochs with input; unknown before there are "
        f"{LEAST_FOR_P99} of them.",
        lambda seen: seen.percentile(99, least=LEAST_FOR_P99),
        label="epoch duration p99",
        scope="run",
        shown=("card", "summary"),
        decimals=0,
    )
    epoch_duration_ms: float = figure(
        "ms",
        "Time from the arrival of all messages of the epoch to the commit of the epoch.",
        lambda seen: seen.epoch_ms[-1] if len(seen.epoch_ms) else float("nan"),
        label="epoch duration",
        scope="epoch",
        shown=("chart",),
        decimals=0,
    )


@dataclass(frozen=True, kw_only=True)
class Outcome(Figures):
    """What happened to the input, computed from an object with these fields, such as `Taken`."""

    lines: int = figure(
        "lines", "Lines or rows that were read.", lambda seen: seen.lines, scope="run"
    )
    rejected: int = figure(
        "lines",
        "Lines in dead letters; in a join, also rows of the static side.",
        lambda seen: seen.rejected,
        shown=("card", "chart"),
        counts_up=True,
    )
    late: int = figure(
        "results",
        "Partial results that came after their window was closed, and were dropped.",
        lambda seen: seen.late,
        shown=("card", "chart"),
        counts_up=True,
    )
    overflows: int = figure(
        "results",
        "Results that are null because a sum does not fit its type.",
        lambda seen: seen.overflows,
        scope="run",
    )
    seconds: float = figure(
        "seconds",
        "Time from the start of the query to its end, without the warm-up.",
        lambda seen: seen.seconds,
        scope="run",
    )


@dataclass(frozen=True, kw_only=True)
class Standing(Figures):
    """Where a query stands after an epoch, computed from a `Stood`."""

    lag: int = figure(
        "rows",
        "Rows of the input that had arrived when the epoch began and are in no epoch yet; in a "
        "topic, offsets.",
        lambda seen: seen.lag,
        scope="epoch",
        shown=("card", "chart"),
    )
    state_rows: int = figure(
        "rows",
        "Rows in the query's state when the epoch ended, such as the keys of open windows.",
        lambda seen: seen.state_rows,
        label="rows of state",
        scope="epoch",
        shown=("card", "chart"),
    )
    state_bytes: int = figure(
        "bytes",
        "Memory that the query's state used when the epoch ended.",
        lambda seen: seen.state_bytes,
        label="size of state",
        scope="epoch",
        shown=("card",),
    )


@dataclass(frozen=True, kw_only=True)
class JoinFigures(Figures):
    """What a join did, computed from one epoch or from all epochs.

    The observations are the loads in items and in seconds, the load that the mode balances, the
    threshold, and how much was moved, loaded and matched.
    """

    matches: int = figure(
        "matches",
        "Pairs in the result of the join.",
        lambda seen: seen.matches,
        shown=("card",),
        counts_up=True,
    )
    mldc: float = figure(
        "",
        "Maximum load distance coefficient: the maximum load divided by the mean load, minus 1.",
        lambda seen: max_load_distance(seen.loads),
        label="MLDC",
        scope="epoch",
        shown=("card", "chart"),
        decimals=3,
        limit="mldc_threshold",
    )
    mldc_items: float = figure(
        "",
        "MLDC of the items of each worker.",
        lambda seen: max_load_distance(seen.items),
        label="MLDC of items",
        scope="epoch",
        decimals=3,
    )
    mldc_seconds: float = figure(
        "",
        "MLDC of the seconds that each worker computed.",
        lambda seen: max_load_distance(seen.seconds),
        label="MLDC of seconds",
        scope="epoch",
        decimals=3,
    )
    mldc_threshold: float = figure(
        "",
        "MLDC above which partitions move.",
        lambda seen: seen.threshold,
        label="MLDC threshold",
        scope="epoch",
        shown=("card",),
    )
    moved_partitions: int = figure(
        "partitions",
        "Partitions that moved to another worker, before the epoch.",
        lambda seen: seen.moved_partitions,
        shown=("card", "chart"),
        counts_up=True,
    )
    static_loads: int = figure(
        "partitions",
        "Static partitions that workers loaded.",
        lambda seen: seen.static_loads,
        shown=("card", "chart"),
        counts_up=True,
    )
    static_partitions: tuple[int, ...] = figure(
        "partitions",
        "Static partitions of each worker in the epoch.",
        lambda seen: seen.static_partitions,
        scope="epoch",
    )
    redistribution_seconds: float = figure(
        "seconds",
        "Time to move partitions: to decide which partitions move, and to load them on the slowest "
        "worker.",
        lambda seen: seen.redistribution_seconds,
    )


_GROUPS: tuple[type[Figures], ...] = (RunMetrics, Pace, Outcome, Standing, JoinFigures)

FIGURES: dict[str, Figure] = {each.name: each for group in _GROUPS for each in group.declared()}
"""All figures by their names."""


def shown_in(place: Place) -> list[Figure]:
    """Return the figures that a place shows, in the order of their declaration."""
    return [each for each in FIGURES.values() if place in each.shown]


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
