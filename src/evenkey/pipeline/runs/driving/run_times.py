"""The timeline of a run: the one place that adds up the times of its epochs.

The progress line, the records of epochs and the report read their times from it, so they agree.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.metrics import Stood
from evenkey.pipeline.runs.output.commits import Span

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from pyspark.sql.streaming import StreamingQuery

_OWN = 0
"""Number of this process among the processes of the run; claims have higher numbers."""


_SHORTEST_MS = 1.0
"""Shortest duration to assume: Spark reports whole ms, and a rate over 0 ms is undefined."""


@dataclass(frozen=True)
class Timing:
    """Times of a run's epochs.

    Parameters
    ----------
    makespan_ms
        Time from the start of the first epoch to the last commit, including the closing of windows;
        summed over the processes of a continued run.
    epoch_ms
        Duration of each epoch with input, from the availability of its messages to its commit.
    """

    makespan_ms: float
    epoch_ms: tuple[float, ...]


class At(NamedTuple):
    """Times of a run at the end of an epoch.

    Parameters
    ----------
    epoch
        Times of the epoch itself.
    run
        Times of the run up to the end of the epoch.
    stood
        Where the query stood; all unknown if an earlier process ran the epoch.
    own
        Whether this process ran the epoch.
    """

    epoch: Span
    run: Timing
    stood: Stood
    own: bool


class Timeline:
    """Adds up the times of a run's epochs, over all processes of the run.

    Parameters
    ----------
    earlier
        By number, the claim and times of each epoch that an earlier process committed; None: no
        epochs.
    """

    def __init__(self, earlier: Mapping[int, tuple[int, Span]] | None = None) -> None:
        self._waiting = {epoch: [each] for epoch, each in (earlier or {}).items()}
        self._spans = {epoch: each for epoch, (_, each) in (earlier or {}).items()}
        self._own: dict[int, Stood] = {}
        self._ends: dict[int, tuple[float, float]] = {}
        self._lengths: list[float] = []
        self._before_ms = 0.0

    def preceded_by(self, milliseconds: float) -> None:
        """Add the duration of work before this process's first epoch, such as counting its keys."""
        self._before_ms += milliseconds

    def take_in(self, progresses: Iterable[Any]) -> None:
        """Take in Spark's reports of the epochs that this process ran; known epochs are skipped."""
        for each in progresses:
            epoch = each["batchId"]
            if epoch not in self._own:
                self._own[epoch] = stood(each)
                self._spans[epoch] = span(each)
                # A process may run an epoch again that an earlier process committed.
                self._waiting.setdefault(epoch, []).append((_OWN, self._spans[epoch]))

    def take_in_all(self, query: StreamingQuery) -> None:
        """Take in the reports of all epochs that a query still has."""
        self.take_in(epochs_of(query))

    def at(self, epoch: int) -> At | None:
        """Return the times at the end of an epoch; None if its end is not known.

        Epochs are passed in order.
        """
        run = self.timing(epoch)
        if epoch not in self._spans:
            return None
        own = self._own.get(epoch)
        return At(self._spans[epoch], run, own or Stood(), own is not None)

    def timing(self, last: float = math.inf) -> Timing:
        """Return the times of all known epochs up to `last`, which never decreases."""
        for epoch in sorted(each for each in self._waiting if each <= last):
            for process, one in self._waiting.pop(epoch):
                began, ended = self._ends.get(process, (one.began, one.ended))
                self._ends[process] = min(began, one.began), max(ended, one.ended)
                self._lengths += [one.length] if one.held else []
        before = self._before_ms if _OWN in self._ends else 0.0
        return Timing(
            before + sum(ended - began for began, ended in self._ends.values()),
            tuple(self._lengths),
        )

    @property
    def own_spans(self) -> dict[int, Span]:
        """Return the times of each epoch that this process ran, by epoch number."""
        return {epoch: self._spans[epoch] for epoch in self._own}

    @property
    def epoch_ms(self) -> dict[int, float]:
        """Return the duration in ms of each epoch that this process ran, by epoch number."""
        return {epoch: each.length for epoch, each in self.own_spans.items()}


def ran(progress: Any) -> bool:
    """Return whether an epoch ran; an idle query also reports progress, for the next epoch."""
    return "addBatch" in progress["durationMs"]


def epochs_of(query: StreamingQuery) -> list[dict[str, Any]]:
    """Return the progress reports of epochs that ran, without those of an idle query."""
    return [each for each in query.recentProgress if ran(each)]


def span(progress: Any) -> Span:
    """Read the times of an epoch from its progress."""
    began = datetime.fromisoformat(progress["timestamp"]).timestamp() * 1000
    durations = progress["durationMs"]
    # If an earlier process began the epoch, Spark does not request the epoch again, so its progress
    # has no such duration.
    waited = float(durations.get("latestOffset", 0))
    length = max(float(durations["triggerExecution"]) - waited, _SHORTEST_MS)
    return Span(began, waited, length, bool(progress["sources"][0]["numInputRows"]))


def stood(progress: Any) -> Stood:
    """Read from an epoch's progress where the query stood.

    Examples
    --------
    >>> operator = {"numRowsTotal": 7, "memoryUsedBytes": 900}
    >>> source = {"endOffset": '{"position": 40}', "latestOffset": '{"position": 100}'}
    >>> stood({"stateOperators": [operator], "sources": [source]})
    Stood(lag=60, state_rows=7, state_bytes=900)
    """
    operators = progress["stateOperators"]
    size = {
        name: sum(each[figure] for each in operators) if operators else math.nan
        for name, figure in (("state_rows", "numRowsTotal"), ("state_bytes", "memoryUsedBytes"))
    }
    return Stood(lag=_lag(progress["sources"]), **size)


def _lag(sources: Iterable[Any]) -> float:
    """Return how far the sources are behind their latest offsets; NaN if none reports these."""
    found = [
        max(0, latest - ends.get(place, latest))
        for each in sources
        for ends in [dict(_offsets(each["endOffset"]))]
        for place, latest in _offsets(each["latestOffset"])
    ]
    return sum(found) if found else math.nan


def _offsets(text: str | None) -> Iterator[tuple[tuple[str, ...], int]]:
    """Yield the offsets of a source with their places, such as topic and partition."""
    try:
        stated = json.loads(text or "null")
    except ValueError:
        return
    waiting: list[tuple[tuple[str, ...], Any]] = [((), stated)]
    for place, each in waiting:
        if isinstance(each, dict):
            waiting += [((*place, name), below) for name, below in each.items()]
        elif isinstance(each, int):
            yield place, each
