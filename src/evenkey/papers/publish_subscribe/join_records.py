"""Make the records of a join's epochs from the log that its slots write."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkey.papers.publish_subscribe.join_seen import JoinSeen
from evenkey.papers.publish_subscribe.report import epochs_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from evenkey.joins import EpochLog
    from evenkey.papers.publish_subscribe.join_seen import LoadMeasure
    from evenkey.papers.publish_subscribe.report import JoinEpoch
    from evenkey.pipeline.exporters import History
    from evenkey.pipeline.runs import Recorder


class JoinRecords:
    """Adds up the figures of a join's ended epochs, and passes them to a recorder.

    Parameters
    ----------
    recorder
        Receives the figures of each epoch; None: epochs are not recorded.
    log
        Log that the slots of the join's query wrote, in this process and in earlier ones.
    partitions, workers
        Numbers of partitions and of workers.
    measure
        The measure of load that the mode uses.
    threshold
        MLDC above which partitions move.
    rejected
        Function that counts the dead letters so far.
    history
        Records of the run's earlier epochs. They are needed because the log does not keep all
        epochs of a long run. None: the run stores no records.
    """

    def __init__(
        self,
        recorder: Recorder | None,
        log: EpochLog,
        *,
        partitions: int,
        workers: int,
        measure: LoadMeasure,
        threshold: float,
        rejected: Callable[[], int],
        history: History | None = None,
    ) -> None:
        self._recorder = recorder
        self._log = log
        self._size = partitions, workers
        self._measure, self._threshold = measure, threshold
        self._rejected = rejected
        self._history = history
        self._last = -1
        self._published: dict[int, int] = {}
        self.run: JoinSeen | None = None
        """Observations of all epochs so far; None before the end of the first epoch."""

    def publish(self, progresses: Iterable[Any]) -> None:
        """Take the number of publications of each epoch from Spark's reports.

        The log of the slots cannot count publications: a pipeline may pass some publications to
        the join several times, and others not at all.
        """
        self._published |= {each["batchId"]: int(each["numInputRows"]) for each in progresses}

    def catch_up(self, last_epoch: int | None = None) -> None:
        """Record the epochs that have ended since the last call, up to `last_epoch`."""
        known = None if self._last < 0 else self._last
        for number in self._log.epochs(known):
            if last_epoch is None or number <= last_epoch:
                for epoch in epochs_of(self._log, *self._size, only=number):
                    self._take_in(epoch)
                self._last = number

    def _take_in(self, epoch: JoinEpoch) -> None:
        seen = epoch.seen(self._measure, self._threshold)
        seen = replace(seen, messages=self._publications(epoch))
        if self.run is None and epoch.epoch > 0:
            self.run = self._seen_before(epoch.epoch)
        self.run = seen if self.run is None else self.run.plus(seen)
        if self._recorder is not None:
            figures = {
                **self.run.figures(of_epoch=False),
                **seen.figures(of_epoch=True),
                "rejected": self._rejected(),
            }
            self._recorder.record(epoch.epoch, figures, owners=epoch.owners)

    def _publications(self, epoch: JoinEpoch) -> int:
        """Return the number of publications in an epoch.

        If an earlier process ran the epoch, the number comes from the record of the epoch.
        """
        number, history = epoch.epoch, self._history
        if number in self._published:
            return self._published.pop(number)
        if history is not None and history.has(number):
            return int(history.record(number)["epoch_messages"])
        return epoch.messages  # the earlier process was killed before it recorded the epoch

    def _seen_before(self, epoch: int) -> JoinSeen | None:
        """Return the figures of all epochs before `epoch` from the history; None if it has none."""
        history = self._history
        earlier = [] if history is None else [each for each in history.numbers() if each < epoch]
        if history is None or not earlier:
            return None
        record = history.record(earlier[-1])
        return JoinSeen.before(record, measure=self._measure, workers=self._size[1])
