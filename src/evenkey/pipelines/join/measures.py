"""Measures the epochs of a join once they have ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.pipelines.join.report import epochs_of
from evenkey.runs.timing import epochs_of as progress_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

    from evenkey.joins.epoch_log import EpochLog
    from evenkey.pipelines.join.config import JoinConfig

__all__ = ["JoinMeasures"]


class JoinMeasures:
    """Reads what slots wrote down of each epoch.

    Parameters
    ----------
    config
        What runs.
    log
        Gives the log of a query.
    """

    def __init__(self, config: JoinConfig, log: Callable[[StreamingQuery], EpochLog]) -> None:
        self._config = config
        self._log = log
        self._last = -1
        self.messages = 0
        self.max_over_mean: float | None = None

    def catch_up(self, query: StreamingQuery, last: int | None = None) -> None:
        """Take in the epochs that have ended, or those up to the last of them."""
        for progress in progress_of(query):
            epoch = progress["batchId"]
            if epoch > self._last and (last is None or epoch <= last):
                self._last = epoch
                self.messages += progress["numInputRows"]
                self.max_over_mean = 1 + self._distance(query, epoch)

    def _distance(self, query: StreamingQuery, epoch: int) -> float:
        """MLDC of an epoch: the most loaded slot over the mean, less 1."""
        config = self._config
        partitions = config.partitions_or_default
        epochs = epochs_of(self._log(query), partitions, config.workers, only=epoch)
        return epochs[0].max_load_distance(by_items=config.by_items) if epochs else 0.0
