"""Loads and imbalance of a simulation after every message."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.simulation.series import Point, Series

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray

    from evenkey.simulation.source_routers import Messages

_NO_WEIGHTS = np.empty(0, dtype=np.int64)


class Account:
    """Tracks the loads of all workers, and the part of each load that each source sent.

    Loads only grow, so the maximum load after each message is known without a search. I(t) is the
    maximum load less the mean load after message t. All sums are whole numbers, so the mean of I(t)
    over every message t is exact.

    Parameters
    ----------
    workers, sources
        Number of workers, and of sources.
    series
        Series that records the imbalance over time.
    """

    def __init__(self, workers: int, sources: int, series: Series) -> None:
        self.loads = np.zeros(workers, dtype=np.int64)
        """int64[W], load of each worker."""
        self._held: NDArray[np.int64] | None = None
        self.messages = 0
        self.total = 0
        """Weight of all messages."""
        self._local = np.zeros((sources, workers), dtype=np.int64)
        self._peaks = np.zeros(sources, dtype=np.int64)
        self._sum_of_peaks = self._sum_of_totals = 0
        self._seconds = 0.0
        self._series = series

    @property
    def messages_held(self) -> NDArray[np.int64]:
        """int64[W], number of messages of each worker."""
        return self.loads if self._held is None else self._held

    @property
    def average_imbalance(self) -> float:
        """Mean of I(t) over every message t; 0 if there are no messages."""
        workers = len(self.loads)
        sums = workers * self._sum_of_peaks - self._sum_of_totals
        return sums / (workers * max(1, self.messages))

    def add(self, messages: Messages, workers: NDArray[np.int32]) -> None:
        """Add the next messages, which went to these workers."""
        start = 0
        while start < len(messages):
            stop = min(len(messages), start + self._series.due - self.messages)
            self._add(messages[start:stop], workers[start:stop])
            if self.messages == self._series.due:
                self._series.take(self._now())
            start = stop

    def series(self) -> pa.Table:
        """Return the points of the series, up to the last message."""
        return self._series.table(self._now())

    def _add(self, messages: Messages, workers: NDArray[np.int32]) -> None:
        from evenkey.simulation import _kernels

        if messages.observed is not None:
            held = np.bincount(workers, minlength=len(self.loads))
            self._held = held if self._held is None else self._held + held
        peaks, totals, self.total = _kernels.add_loads(
            workers,
            messages.sources,
            _NO_WEIGHTS if messages.observed is None else messages.observed,
            self.total,
            self.loads,
            self._local,
            self._peaks,
        )
        # Python's whole numbers do not overflow, however long the stream.
        self._sum_of_peaks += int(peaks)
        self._sum_of_totals += int(totals)
        self.messages += len(messages)
        self._seconds = float(messages.times[-1])

    def _now(self) -> Point:
        mean = self.total / len(self.loads)
        return Point(
            self.messages,
            self._seconds,
            int(self.loads.max()) - mean,
            int(self._peaks.sum()) - mean,
        )
