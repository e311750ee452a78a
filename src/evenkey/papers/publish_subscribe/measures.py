"""Measures the epochs of a join once they have ended, and has them recorded."""

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
    """Reads the slots' records of each epoch.

    Parameters
    ----------
    config
        What runs.
    log
        Gives the log of a query.
    recorder
        Takes the record of each epoch; None: nobody does.
    rejected
        Counts the dead letters so far.
    history
        Of the run, if it has one.
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
        """Read the epochs that have ended, or those up to the last of them."""
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
        """MLDC of an epoch: the most loaded slot over the mean, less 1."""
        config = self._config
        epochs = epochs_of(log, config.partitions_or_default, config.workers, only=epoch)
        return epochs[0].max_load_distance(config.load_measure) if epochs else 0.0
