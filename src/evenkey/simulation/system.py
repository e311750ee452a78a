"""The simulated system: sources, workers, and the books of what goes from one to the other."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.simulation.account import Account
from evenkey.simulation.estimation import Global, Probing
from evenkey.simulation.placement import Placement
from evenkey.simulation.report import Agreement
from evenkey.simulation.sources import Sources
from evenkey.simulation.timeline import Timeline

if TYPE_CHECKING:
    from evenkey.groupings import Grouping, Snapshot
    from evenkey.simulation.estimation import Estimation
    from evenkey.simulation.series import Series
    from evenkey.simulation.sources import Messages

__all__ = ["System"]


class System:
    """S sources that send to W workers, and whoever watches them.

    Parameters
    ----------
    grouping, estimation
        What the sources route by, and how they estimate loads.
    workers, sources
        How many there are.
    series
        Takes the imbalance in the course of time.
    epoch_messages
        Messages of an epoch; None is no epochs.
    agreement
        Whether each decision is compared with the one under global estimation.
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
    ) -> None:
        self.sources = Sources(grouping, estimation, workers, sources)
        self._oracle = Sources(grouping, Global(), workers, sources) if agreement else None
        self._agreeing = 0
        self.account = Account(workers, sources, series)
        self.placement = Placement(workers, by_epoch=epoch_messages is not None)
        probing = estimation.seconds if isinstance(estimation, Probing) else None
        self._timeline = Timeline(epoch_messages, probing)

    @property
    def agreement(self) -> Agreement | None:
        """How far decisions agreed with those under global estimation, where that was asked."""
        if self._oracle is None:
            return None
        return Agreement(self.account.messages, self._agreeing)

    def remember(self, plan: Snapshot) -> None:
        """Tell every router a plan."""
        self.sources.remember(plan)
        if self._oracle is not None:
            self._oracle.remember(plan)

    def take(self, messages: Messages) -> None:
        """Route the next messages."""
        if not self.account.messages:
            self.sources.warm_up(messages)
        for piece in self._timeline.cut(messages):
            if piece.probe:
                self.sources.probe(self.account.loads)
            workers = self.sources.route(piece.messages)
            if self._oracle is not None:
                same = workers == self._oracle.route(piece.messages)
                self._agreeing += int(np.count_nonzero(same))
            self.account.add(piece.messages, workers)
            self.placement.add(piece.messages, workers)
            if piece.ends_epoch:
                self.end_epoch()

    def end_epoch(self) -> None:
        """End the epoch, full or not."""
        self.placement.end_epoch()
        self.sources.end_epoch()
        if self._oracle is not None:
            self._oracle.end_epoch()
