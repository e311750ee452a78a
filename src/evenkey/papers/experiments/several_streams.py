"""Scenarios that are measured on several streams, which differ in their seeds."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from evenkey.papers.experiments.scenario import Measurement, Scenario
from evenkey.papers.experiments.timed import medians

if TYPE_CHECKING:
    import pyarrow as pa

    from evenkey.papers.experiments.scenario import OnMessages


@dataclass(frozen=True)
class SeveralStreams(Scenario):
    """A scenario whose figures are those of several streams.

    Parameters
    ----------
    seeds
        Number of streams. The result has the figures of each, and their medians, minima and maxima.
    """

    seeds: int = field(default=3, kw_only=True)

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Measure the streams; the series is that of the first."""
        seeds = range(self.dataset.seed, self.dataset.seed + self.seeds)
        runs = [self.seeded(seed).once() for seed in seeds]
        messages = self.seeds * (self.dataset.messages or 0)
        if on_messages is not None:
            on_messages(messages)
        figures = medians([figures for figures, _ in runs], fresh=True)
        return Measurement({"messages": messages, **figures}, runs[0][1])

    @abstractmethod
    def once(self) -> tuple[dict[str, float], pa.Table | None]:
        """Measure one stream, that of the dataset's seed; return the figures and the series."""
