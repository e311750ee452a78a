"""The two ways to measure the DKG paper's methods: simulated, and by the pipeline on Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from evenkey.papers.experiments import PipelineRun, Simulation, Way
from evenkey.papers.experiments.dkg.methods import (
    AGGREGATORS,
    METHODS,
    SPLITTERS,
    SPOUTS,
    cost_ms,
    dataset,
    observed_by,
)
from evenkey.papers.experiments.dkg.metrics import MEASURED, SIMULATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkey.papers.experiments import Scale, Scenario
    from evenkey.papers.experiments.dkg.metrics import Metric
    from evenkey.simulation import HashName

_HASH: HashName = "murmur3"
_FROM_FILE = {"wikipedia-pageviews"}
"""Data sets that are read from a file, because generating them is slow: the power law of
wikipedia-pageviews has 20 million keys."""
_QUICK = 0.04
_EPOCH, _FEWEST, _MOST = 10_000, 4, 50
"""Messages of an epoch, and the fewest and the most epochs of a run on Spark."""


class Setting(NamedTuple):
    """A data set, by the paper's name, and the numbers of workers and spouts to compare with."""

    data: str
    workers: int = 10
    spouts: int = SPOUTS


@dataclass(frozen=True)
class MethodsWay(Way):
    """A way to measure the methods (the groupings that are compared): by simulation or on Spark.

    Parameters
    ----------
    metrics
        The metric that each column of the results shows, by the name of the column.
    measured
        Function of a setting and a scale. It returns the scenarios to measure, one per method.
    spouts
        The parameter of the scenarios that is the number of spouts.
    """

    metrics: Mapping[str, Metric] = field(kw_only=True)
    measured: Callable[[Setting, Scale], Iterator[Scenario]] = field(kw_only=True)
    spouts: str = field(kw_only=True)


def _simulated(setting: Setting, scale: Scale) -> Iterator[Simulation]:
    """Declare a simulation of each of the paper's methods, with the reference code's hash."""
    stream = dataset(setting.data, scale)
    for method in METHODS:
        yield Simulation(
            stream,
            method,
            setting.workers,
            SPLITTERS,
            setting.spouts,
            hash=_HASH,
            observe_by=observed_by(stream),
        )


def _on_spark(setting: Setting, scale: Scale) -> Iterator[PipelineRun]:
    """Declare a run on Spark of each of the paper's methods and of planned grouping."""
    stream = dataset(setting.data, scale, quick=_QUICK)
    for method in (*METHODS, "planned"):
        yield PipelineRun(
            stream,
            method,
            setting.workers,
            setting.spouts,
            SPLITTERS,
            cost_ms=cost_ms(setting.data),
            epochs=min(max((stream.messages or 0) // _EPOCH, _FEWEST), _MOST),
            aggregators=AGGREGATORS,
            from_file=setting.data in _FROM_FILE,
            repeats=scale.repeats,
            observe_by=observed_by(stream),
        )


SIMULATION = MethodsWay(
    note="10 splitters route. The stream spans the time that the paper's DKG takes for "
    "twitter-election, 1,175 s, in proportion to messages and cost. Latency and throughput are the "
    "paper's measurements on a cluster; the simulator has no such clock. If the workers are the "
    "bottleneck, time is proportional to the maximum load, and throughput to its inverse: the page "
    "shows these instead. Throughput is relative to balanced loads of that number of workers, so "
    "bounds of different numbers of workers cannot be compared.",
    metrics=SIMULATED,
    measured=_simulated,
    spouts="readers",
)

ON_SPARK = MethodsWay(
    "-spark",
    ", throughput and latency measured",
    ", on Spark",
    "Run by the pipeline on Spark: the spouts read generated messages, 10 splitters route them, "
    "and there are 10 aggregators. Each worker sleeps for 1 ms a message, in the data sets of "
    "Wikipedia for 0.1 ms as in the scripts of the paper's program, so that all of them work "
    "side by side on any number of cores. Latency is the paper's, the time that all messages "
    "take, from the start of the first epoch to the last commit; with 10 workers 0.5 to 1 s of "
    "each epoch is Spark's own. Below scale full streams are cut short, to 4 or 10 epochs, so "
    "compare methods rather than digits. Planned grouping is not the paper's.",
    metrics=MEASURED,
    measured=_on_spark,
    spouts="sources",
)
