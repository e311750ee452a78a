"""Loads of workers, and which workers hold each key, over the whole stream and in each epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.metrics import EpochMetrics, LoadCounts, PairCounts, RunMetrics, Seen

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evenkey.simulation.source_routers import Messages


class Placement:
    """Counts loads and distinct (worker, key) pairs.

    Parameters
    ----------
    workers
        Number of workers.
    by_epoch
        Whether to also count each epoch separately.
    replication
        Whether to count pairs; loads are always counted.
    """

    def __init__(self, workers: int, *, by_epoch: bool, replication: bool) -> None:
        self._whole = PairCounts(workers) if replication else LoadCounts(workers)
        self._epoch = self._whole.of_next_epoch() if by_epoch else self._whole
        self._by_epoch = by_epoch
        self._messages = 0
        self.epochs: list[EpochMetrics] = []

    def add(self, messages: Messages, workers: NDArray[np.int32]) -> None:
        """Add the next messages, which went to these workers."""
        self._epoch.add(workers, messages.keys, messages.observed)
        self._messages += len(messages)

    def end_epoch(self) -> None:
        """End the current epoch, if epochs are counted and the current one has a message."""
        if self._by_epoch and self._messages:
            self.epochs.append(EpochMetrics.of_epoch(len(self.epochs), self._epoch, self._messages))
            self._messages = 0
            self._whole.merge(self._epoch)
            self._epoch = self._whole.of_next_epoch()

    def metrics(self, messages: int, average_imbalance: float) -> RunMetrics:
        """Compute the metrics of the whole stream; with epochs, of all epochs that have ended."""
        return RunMetrics.of(Seen(self._whole, messages, average_imbalance))
