"""The two ways to measure the DKG paper's methods: simulated, and by the pipeline on Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from evenkey.papers.experiments import PipelineRun, Simulation, Way
from evenkey.papers.experiments.dkg.methods import METHODS, dataset, observed_by
from evenkey.papers.experiments.dkg.metrics import MEASURED, SIMULATED

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from evenkey.papers.experiments import Scale, Scenario
    from evenkey.papers.experiments.dkg.metrics import Metric
    from evenkey.simulation import HashName

_HASH: HashName = "murmur3"
_COST_MS = 1.0
_AGGREGATORS = 2
_FROM_FILE = {"wikipedia-pageviews"}
"""Data sets that are read from a file, because generating them is slow: the power law of
wikipedia-pageviews has 20 million keys."""
_QUICK = 0.04
_QUICK_EPOCHS, _EPOCHS = 4, 50


class Setting(NamedTuple):
    """A data set, by the paper's name, and the numbers of workers and sources to compare with."""

    data: str
    workers: int = 10
    sources: int = 5


@dataclass(frozen=True)
class MethodsWay(Way):
    """A way to measure the methods (the groupings that are compared): by simulation or on Spark.

    Parameters
    ----------
    metrics
        The metric that each column of the results shows, by the name of the column.
    measured
        Function of a setting and a scale. It returns the scenarios to measure, one per method.
    """

    metrics: Mapping[str, Metric] = field(kw_only=True)
    measured: Callable[[Setting, Scale], Iterator[Scenario]] = field(kw_only=True)


def _simulated(setting: Setting, scale: Scale) -> Iterator[Simulation]:
    """Declare a simulation of each of the paper's methods, with the reference code's hash."""
    stream = dataset(setting.data, scale)
    for method in METHODS:
        yield Simulation(
            stream,
            method,
            setting.workers,
            setting.sources,
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
            setting.sources,
            cost_ms=_COST_MS,
            epochs=_EPOCHS if scale.whole else _QUICK_EPOCHS,
            aggregators=_AGGREGATORS,
            from_file=setting.data in _FROM_FILE,
            repeats=scale.repeats,
            observe_by=observed_by(stream),
        )


SIMULATION = MethodsWay(
    note="Latency and throughput are the paper's measurements on a cluster; the simulator has no "
    "such clock. If the workers are the bottleneck, time is proportional to the maximum load, and "
    "throughput to its inverse: the page shows these instead.",
    metrics=SIMULATED,
    measured=_simulated,
)

ON_SPARK = MethodsWay(
    "-spark",
    ", throughput and latency measured",
    ", on Spark",
    "Run by the pipeline on Spark from the generator. Each worker sleeps for 1 ms a message, so "
    "that all of them work side by side on any number of cores; 2 aggregators. Latency is the "
    "paper's, the time that all messages take, from the start of the first epoch to the last "
    "commit; about a second of each epoch is Spark's own. Streams are cut short at scale quick, "
    "so compare methods rather than digits. Planned grouping is not the paper's.",
    metrics=MEASURED,
    measured=_on_spark,
)
