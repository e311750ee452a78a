"""The simulated system: sources, workers, and the loads that sources send to workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.metrics import EpochMetrics, LoadCounts, PairCounts, RunMetrics, Seen
from evenkey.simulation.account import Account
from evenkey.simulation.estimation import Global, Probing
from evenkey.simulation.key_frequencies import count_keys
from evenkey.simulation.report import Agreement
from evenkey.simulation.source_routers import Sources
from evenkey.simulation.timeline import Timeline, epochs

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from evenkey.groupings import Grouping
    from evenkey.simulation.estimation import Estimation
    from evenkey.simulation.series import Series
    from evenkey.simulation.source_routers import Messages
    from evenkey.simulation.timeline import Piece


class System:
    """S sources that send messages to W workers, and the counts of the workers' loads.

    Parameters
    ----------
    grouping, estimation
        Grouping by which the sources route, and how they estimate loads.
    workers, sources
        Number of workers, and of sources.
    series
        Series that records the imbalance over time.
    epoch_messages
        Number of messages of an epoch. None: no epochs.
    agreement
        Whether to compare each decision with the decision under global estimation.
    replication
        Whether to count which workers hold each key.
    """

    def __init__(
        self,
        grouping: Grouping,
        estimation: Estimation,
        *,
        workers: int,
        sources: int,
        series: Series,
        epoch_messages: int | None,
        agreement: bool,
        replication: bool,
    ) -> None:
        self.sources = Sources(grouping, estimation, workers, sources)
        self._oracle = Sources(grouping, Global(), workers, sources) if agreement else None
        self._all = [self.sources] if self._oracle is None else [self.sources, self._oracle]
        self._agreeing = 0
        self._by_epoch = epoch_messages is not None
        self.account = Account(workers, sources, series)
        self._sent = np.zeros(workers, dtype=np.int64)
        self.placement = Placement(workers, by_epoch=self._by_epoch, replication=replication)
        probing = estimation.seconds if isinstance(estimation, Probing) else None
        self._probes = probing is not None
        self._timeline = Timeline(epoch_messages, probing)

    @property
    def agreement(self) -> Agreement | None:
        """Agreement with the decisions under global estimation; None if it was not requested."""
        if self._oracle is None:
            return None
        return Agreement(self.account.messages, self._agreeing)

    def plan(self, keys: NDArray[np.uint64], counts: NDArray[np.float64]) -> None:
        """Make a plan from key frequencies (hashes and counts, each [k]) for all routers."""
        for each in self._all:
            each.plan(keys, counts)

    def run(self, stream: Iterable[Messages]) -> Iterator[int]:
        """Route a stream; after each piece, yield the number of messages routed so far."""
        for epoch in epochs(self._timeline, stream):
            pieces: Iterable[Piece] = epoch
            waiting = [each for each in self._all if each.count_first]
            if waiting and self._by_epoch:
                pieces = list(epoch)
                counts = count_keys(piece.messages for piece in pieces)
                for each in waiting:
                    each.plan(*counts)
            for piece in pieces:
                self._take(piece)
                yield self.account.messages
            self.placement.end_epoch()
            for each in self._all:
                each.end_epoch()

    def _take(self, piece: Piece) -> None:
        if not self.account.messages:
            self.sources.warm_up(piece.messages)
        if piece.probe:
            self.sources.probe(self._sent)
        workers = self.sources.route(piece.messages)
        if self._probes:
            # Count in the unit of the routers, which can differ from the unit of the metrics.
            weights = piece.messages.weights
            np.add.at(self._sent, workers, 1 if weights is None else weights)
        if self._oracle is not None:
            same = workers == self._oracle.route(piece.messages)
            self._agreeing += int(np.count_nonzero(same))
        self.account.add(piece.messages, workers)
        self.placement.add(piece.messages, workers)


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
