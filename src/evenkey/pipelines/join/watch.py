"""Tells of a join's epochs while it runs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from evenkey.pipelines.join.report import epochs_of
from evenkey.runs.report import EpochProgress

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

    from evenkey.joins.epoch_log import EpochLog
    from evenkey.pipelines.join.config import JoinConfig
    from evenkey.runs.report import OnProgress

__all__ = ["JoinWatch"]


class JoinWatch:
    """Tells of each epoch once it has ended.

    Parameters
    ----------
    config
        What runs.
    expected
        Publications that there are; None where that is not known.
    log
        Gives the log of a query by its id.
    on_progress
        Is told.
    """

    def __init__(
        self,
        config: JoinConfig,
        expected: int | None,
        log: Callable[[str], EpochLog],
        on_progress: OnProgress | None,
    ) -> None:
        self._config = config
        self._expected = expected
        self._log = log
        self._on_progress = on_progress
        self._last = -1
        self._published = 0
        self._started = time.monotonic()

    def running(self, query: StreamingQuery) -> Callable[[], None]:
        """Give what tells of a query that reads its input."""
        return lambda: self._tell(query)

    closing = running
    """A join keeps no windows open."""

    def pausing(self) -> None:
        """Report that it ends with the epoch that it is in."""
        if self._on_progress is not None:
            seen, name = self._published, self._config.name
            self._on_progress(
                EpochProgress(name, self._last, seen, self._expected, 0.0, 0.0, "pausing")
            )

    def _tell(self, query: StreamingQuery) -> None:
        if self._on_progress is None:
            return
        for progress in query.recentProgress:
            epoch = progress["batchId"]
            if epoch <= self._last or "addBatch" not in progress["durationMs"]:
                continue
            self._last = epoch
            self._published += progress["numInputRows"]
            self._on_progress(
                EpochProgress(
                    self._config.name,
                    epoch,
                    self._published,
                    self._expected,
                    1 + self._distance(str(query.id), epoch),
                    self._published / (time.monotonic() - self._started),
                    "running",
                )
            )

    def _distance(self, query: str, epoch: int) -> float:
        config = self._config
        epochs = epochs_of(
            self._log(query), config.partitions_or_default, config.workers, only=epoch
        )
        return epochs[0].max_load_distance(by_items=config.by_items) if epochs else 0.0
