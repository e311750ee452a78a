"""Measure how far the sources' estimates of loads are from the loads, before and after probes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.groupings import parse
from evenkey.papers.experiments import Measurement, Scenario
from evenkey.papers.experiments.pkg.techniques import PKG
from evenkey.simulation import Messages, Sources, parse_estimation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.papers.experiments.scenario import OnMessages


@dataclass(frozen=True)
class ProbedEstimates(Scenario):
    """PKG from several sources that ask for the true loads after every `every` messages.

    An estimate of a source is compared with the worker's load times the source's share of all
    messages.

    Parameters
    ----------
    workers, sources
        Number of workers, and of sources. Message i goes to source i modulo `sources`.
    every
        Number of messages from probe to probe.
    """

    kind: ClassVar[str] = "probed-estimates"

    workers: int
    sources: int
    every: int

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Return the largest errors of all estimates, in messages, before and after any probe."""
        grouping, probing = parse(PKG), parse_estimation("probing(seconds=60)")
        sources = Sources(grouping, probing, self.workers, self.sources)
        loads = np.zeros(self.workers, dtype=np.int64)
        errors: dict[str, list[float]] = {"before": [], "after": []}
        done = 0
        with self.dataset.opened() as stream:
            for batch in stream.batches(self.every):
                if done:
                    errors["before"].append(self._error(sources, loads, done))
                    sources.probe(loads)
                    errors["after"].append(self._error(sources, loads, done))
                origins = (done + np.arange(len(batch.keys))) % self.sources
                placed = sources.route(Messages(batch.keys, batch.times, None, origins))
                loads += np.bincount(placed, minlength=self.workers)
                done += len(placed)
                if on_messages is not None:
                    on_messages(done)
        figures = {f"{name}_probes": max(values) for name, values in errors.items()}
        return Measurement({"messages": done, **figures})

    def _error(self, sources: Sources, loads: NDArray[np.int64], done: int) -> float:
        """Return the largest error of an estimate after `done` messages."""
        sent = (done - np.arange(self.sources) + self.sources - 1) // self.sources
        return float(np.abs(sources.estimates - np.outer(sent / done, loads)).max())
