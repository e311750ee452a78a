"""Scenarios that measure times: they run several times, and record medians and the machine."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import statistics
from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, NamedTuple

from evenkey.core.errors import RunError
from evenkey.papers.experiments.scenario import Measurement, Scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Self, TypeAlias

    import pyarrow as pa

    from evenkey.papers.experiments.scenario import Figure, OnMessages, Value

    OneRun: TypeAlias = "Callable[[Timed, int, OnMessages | None], TimedRun]"

MACHINE = "machine"
"""Name of the figure that describes the machine of a timed scenario."""

LEAST, MOST = "_least", "_most"
"""Suffixes of a timing's name for its minimum and its maximum over several runs."""

RUNS = "_runs"
"""Suffix of a timing's name for its values in all runs, if each run has a stream of its own."""

REPEATS = 3


class TimedRun(NamedTuple):
    """The result of one run of a scenario.

    Parameters
    ----------
    figures
        Figures that are the same in every run, such as loads.
    timings
        Figures that depend on time: milliseconds, messages per second.
    series
        Figures along the stream, one row per point. None: the scenario has no series.
    """

    figures: dict[str, Value]
    timings: dict[str, float]
    series: pa.Table | None = None


@dataclass(frozen=True)
class Timed(Scenario):
    """A scenario with figures that depend on time.

    The runner measures such a scenario in its own process, with no other measurement in parallel.
    The runs of up to `at_once` scenarios on the same stream alternate. The result has the figures
    that are the same in every run, the median of each timing, and ``machine``. If there are several
    runs, it also has the minimum and maximum of each timing; if the scenario is `fresh`, also the
    value of each run. Its series is that of the first run.

    Parameters
    ----------
    repeats
        Number of runs; the result has the median of each timing.
    """

    fresh: ClassVar[bool] = False
    """Whether each run has a new stream, with the next seed; otherwise all runs use one stream."""

    repeats: int = field(default=REPEATS, kw_only=True)

    @abstractmethod
    def once(self, on_messages: OnMessages | None = None) -> TimedRun:
        """Run the scenario once.

        Parameters
        ----------
        on_messages
            Function that is called with the number of messages so far.
        """

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Run the scenario `repeats` times.

        Raises
        ------
        RunError
            Two runs differ in a figure that must be the same; the message names the figure.
        """
        return self.measure_all([self], on_messages)[0]

    def run(self, number: int, on_messages: OnMessages | None = None) -> TimedRun:
        """Run the scenario once, as the run of a number that counts from 0."""
        return self.seeded(self.dataset.seed + number * self.fresh).once(on_messages)

    @classmethod
    def measure_all(
        cls,
        scenarios: Sequence[Self],
        on_messages: OnMessages | None = None,
        run: OneRun | None = None,
    ) -> list[Measurement]:
        """Run all scenarios once, then all of them again, until each has its runs.

        Runs alternate, because a machine does not keep its speed: if all runs of a scenario
        followed each other, a slower hour would look like a slower scenario.

        Parameters
        ----------
        scenarios
            Scenarios on the same stream.
        on_messages
            Function that is called with the number of messages so far in a run.
        run
            Function that runs a scenario once. None: `run` of the scenario.

        Raises
        ------
        RunError
            Two runs of a scenario differ in a figure that must be the same.
        """
        runs: list[list[TimedRun]] = [[] for _ in scenarios]
        for number in range(max(each.repeats for each in scenarios)):
            for each, done in zip(scenarios, runs, strict=True):
                if number < each.repeats:
                    done.append((run or cls.run)(each, number, on_messages))
        return [_summary(each, done) for each, done in zip(scenarios, runs, strict=True)]


def medians(runs: Sequence[Mapping[str, float]], *, fresh: bool = False) -> dict[str, Figure]:
    """Return the median of each figure over several runs, its minimum and its maximum.

    One run has a median only. A figure that a run lacks is left out.

    Parameters
    ----------
    runs
        The figures of each run.
    fresh
        Whether each run has a new stream. Then the result also has the value of each run, because
        scenarios on the same streams can be compared run by run.

    Examples
    --------
    >>> medians([{"load": 3.0}, {"load": 1.0}, {"load": 2.0}])
    {'load': 2.0, 'load_least': 1.0, 'load_most': 3.0}
    """
    ends: dict[str, Callable[[list[float]], Figure]] = {LEAST: min, MOST: max}
    if fresh:
        ends[RUNS] = list
    names = [name for name in runs[0] if all(name in run for run in runs)]
    values = {name: [run[name] for run in runs] for name in names}
    found: dict[str, Figure] = {name: statistics.median(values[name]) for name in names}
    if len(runs) > 1:
        found |= {f"{name}{end}": of(values[name]) for name in names for end, of in ends.items()}
    return found


def of_steps(seconds: Mapping[str, float], unit: str, per_second: float) -> dict[str, float]:
    """Return the timings of steps: the time of each in another unit, and its share in percent.

    Examples
    --------
    >>> of_steps({"route": 1.0, "merge": 3.0}, "ms", 1000.0)
    {'route_ms': 1000.0, 'merge_ms': 3000.0, 'route_percent': 25.0, 'merge_percent': 75.0}
    """
    whole = sum(seconds.values())
    times = {f"{step}_{unit}": per_second * taken for step, taken in seconds.items()}
    return {**times, **{f"{step}_percent": 100 * taken / whole for step, taken in seconds.items()}}


def machine() -> str:
    """Describe what timings depend on: cores, architecture, and versions of Spark and Python."""
    cores = f"{os.cpu_count()} cores ({platform.machine()})"
    cluster = os.environ.get("SPARK_MASTER")
    place = f"{cluster}, driven from {cores}" if cluster else cores
    spark = importlib.metadata.version("pyspark")
    return f"{place}, Spark {spark}, Python {platform.python_version()}"


def _summary(scenario: Timed, runs: Sequence[TimedRun]) -> Measurement:
    figures = runs[0].figures
    for name, value in figures.items():
        others = {run.figures[name] for run in runs}
        if others != {value}:
            message = (
                f"scenario {scenario.id}: {name} differs between runs ({sorted(map(str, others))}) "
                "but must not: run it again with --again, and report it if it happens again"
            )
            raise RunError(message)
    timings = medians([run.timings for run in runs], fresh=scenario.fresh)
    return Measurement({**figures, **timings, MACHINE: machine()}, runs[0].series)
