"""Measure the ended epochs of a join, and record them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.publish_subscribe.join_records import JoinRecords
from evenkey.papers.publish_subscribe.report import epochs_of
from evenkey.pipeline.runs import epochs_of as progress_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql.streaming import StreamingQuery

    from evenkey.joins import EpochLog
    from evenkey.papers.publish_subscribe.config import JoinConfig
    from evenkey.pipeline.exporters import History
    from evenkey.pipeline.runs import Recorder


class JoinMeasures:
    """Measures and records each epoch, from the log that the slots of the join write.

    Parameters
    ----------
    config
        Configuration of the run.
    log
        Function that returns the log of a query.
    recorder
        Receives the record of each epoch. None: epochs are not recorded.
    rejected
        Function that counts the dead letters so far.
    history
        Records of the run's earlier epochs. None: the run stores no records.
    """

    def __init__(
        self,
        config: JoinConfig,
        log: Callable[[StreamingQuery], EpochLog],
        *,
        recorder: Recorder | None,
        rejected: Callable[[], int],
        history: History | None,
    ) -> None:
        self._config = config
        self._log = log
        self._recorder = recorder
        self._rejected = rejected
        self._history = history
        self._records: JoinRecords | None = None
        self._last = -1
        self.messages = 0
        self.max_over_mean: float | None = None

    def catch_up(self, query: StreamingQuery, last: int | None = None) -> None:
        """Measure the epochs that have ended since the last call, up to the epoch `last`."""
        log = self._log(query)
        ended = [
            progress
            for progress in progress_of(query)
            if progress["batchId"] > self._last and (last is None or progress["batchId"] <= last)
        ]
        if ended:
            self._last = ended[-1]["batchId"]
            self.messages += sum(each["numInputRows"] for each in ended)
            self.max_over_mean = 1 + self._distance(log, self._last)
        if self._recorder is not None:
            self._records = self._records or self._recorded(self._recorder, log)
            self._records.time(ended)
            self._records.catch_up(last)

    def _recorded(self, recorder: Recorder, log: EpochLog) -> JoinRecords:
        config = self._config
        return JoinRecords(
            recorder,
            log,
            partitions=config.partitions_or_default,
            workers=config.workers,
            measure=config.load_measure,
            threshold=config.threshold,
            rejected=self._rejected,
            history=self._history,
        )

    def _distance(self, log: EpochLog, epoch: int) -> float:
        """Compute the MLDC of an epoch: the load of the most loaded slot over the mean, minus 1."""
        config = self._config
        epochs = epochs_of(log, config.partitions_or_default, config.workers, only=epoch)
        return epochs[0].max_load_distance(config.load_measure) if epochs else 0.0
