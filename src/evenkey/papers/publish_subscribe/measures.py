"""Measure the ended epochs of a join, and record them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from evenkey.core.metrics import Balance
from evenkey.papers.publish_subscribe.join_records import JoinRecords
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
        self._log = log
        self._records = partial(
            JoinRecords,
            recorder,
            partitions=config.partitions_or_default,
            workers=config.workers,
            measure=config.load_measure,
            threshold=config.threshold,
            rejected=rejected,
            history=history,
        )
        self._made: JoinRecords | None = None
        self._last = -1

    @property
    def balance(self) -> Balance | None:
        """Publications and load balance so far; None before the end of the first epoch."""
        run = None if self._made is None else self._made.run
        return None if run is None else Balance.of(run)

    def catch_up(self, query: StreamingQuery, last: int | None = None) -> None:
        """Measure the epochs that have ended since the last call, up to the epoch `last`."""
        if self._made is None:
            self._made = self._records(self._log(query))
        ended = [
            progress
            for progress in progress_of(query)
            if progress["batchId"] > self._last and (last is None or progress["batchId"] <= last)
        ]
        if ended:
            self._last = ended[-1]["batchId"]
        self._made.publish(ended)
        self._made.catch_up(last)
