"""Scenarios that a clock measures: run several times, medians kept, the machine named."""

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
    import pyarrow as pa

    from evenkey.papers.experiments.scenario import OnMessages, Value

MACHINE = "machine"
"""Figure that says where a scenario was timed; a frame without it has no timings."""

LEAST, MOST = "_least", "_most"
"""What follows the name of a timing in that of its least and of its largest of several runs."""

REPEATS = 3


class TimedRun(NamedTuple):
    """What one run of a scenario gave.

    Parameters
    ----------
    figures
        What is the same in every run, such as loads.
    timings
        What a clock measured: milliseconds, messages per second.
    series
        Figures along the stream, a row a point; None if there are none.
    """

    figures: dict[str, Value]
    timings: dict[str, float]
    series: pa.Table | None = None


@dataclass(frozen=True)
class Timed(Scenario):
    """A scenario whose figures are in part a clock's.

    The runner measures it in its own process, with nothing beside it. Its result has the figures
    that every run gives, of each timing the median and, of several runs, the least and the largest,
    ``machine``, and the series of the first run.

    Parameters
    ----------
    repeats
        Runs of which the medians are taken.
    """

    alone: ClassVar[bool] = True
    fresh: ClassVar[bool] = False
    """Whether each run has its own stream, from the next seed; otherwise all have the same."""

    repeats: int = field(default=REPEATS, kw_only=True)

    @abstractmethod
    def once(self, on_messages: OnMessages | None = None) -> TimedRun:
        """Run it once.

        Parameters
        ----------
        on_messages
            Called with the messages so far.
        """

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Run it as often as it says.

        Raises
        ------
        RunError
            Two runs differ in what every run should give; the message names it.
        """
        seeds = [self.dataset.seed + number * self.fresh for number in range(self.repeats)]
        runs = [self.seeded(seed).once(on_messages) for seed in seeds]
        figures = runs[0].figures
        for name, value in figures.items():
            others = {run.figures[name] for run in runs}
            if others != {value}:
                message = (
                    f"scenario {self.id}: {name} differs between runs ({sorted(map(str, others))}) "
                    "and should not: run it again, and report it if it does so again"
                )
                raise RunError(message)
        timings = {
            name: statistics.median(run.timings[name] for run in runs) for name in runs[0].timings
        }
        ranges = {
            f"{name}{end}": of(run.timings[name] for run in runs)
            for name in timings
            for end, of in ((LEAST, min), (MOST, max))
            if self.repeats > 1
        }
        return Measurement({**figures, **timings, **ranges, MACHINE: machine()}, runs[0].series)


def machine() -> str:
    """Say what timings depend on: cores, architecture, and the versions of Spark and Python."""
    cores = f"{os.cpu_count()} cores ({platform.machine()})"
    cluster = os.environ.get("SPARK_MASTER")
    place = f"{cluster}, driven from {cores}" if cluster else cores
    spark = importlib.metadata.version("pyspark")
    return f"{place}, Spark {spark}, Python {platform.python_version()}"
