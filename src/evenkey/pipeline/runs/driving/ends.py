"""Where the input of a run ends; topics have no end of their own."""

from __future__ import annotations

from abc import ABC, abstractmethod
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TYPE_CHECKING

from pyspark.errors import StreamingQueryException

from evenkey.pipeline.runs.output.spark_logs import COMMITS, OFFSETS, SparkLogs

if TYPE_CHECKING:
    import contextlib

    from pyspark.sql.streaming import StreamingQuery

    from evenkey.core.stores import Store
    from evenkey.kafka import OffsetRange
    from evenkey.pipeline.runs.driving.gate import Gate


class End(ABC):
    """The end of a query's input; it does not wait for it."""

    @abstractmethod
    def read(self) -> bool:
        """Whether all of the input was processed; raises what has ended the query."""

    @abstractmethod
    def closed(self) -> bool:
        """Whether all windows were closed, once the sign to close them is there."""

    def resting(self, query: StreamingQuery) -> bool:
        """Whether no epoch runs, once the sign to pause is there."""
        return not query.status["isTriggerActive"]


class DrainedEnd(End):
    """Of a source that has no more to offer once it is read; also where it offers no more.

    Parameters
    ----------
    query
        Reads it.
    gate
        May have turned an epoch away, which ends the query.
    stack
        Ends the thread that waits for the query, which must have been stopped by then.
    """

    def __init__(self, query: StreamingQuery, gate: Gate, stack: contextlib.ExitStack) -> None:
        self._query = query
        self._gate = gate
        self._pool = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        # Waited for from the start: a run may be to pause before anybody looks.
        self._drained = self._pool.submit(query.processAllAvailable)
        self._closed: Future[None] | None = None

    def read(self) -> bool:
        """Whether Spark has processed all that was offered."""
        return self._done(self._drained)

    def closed(self) -> bool:
        """Whether Spark has processed the closing row too."""
        self._closed = self._closed or self._pool.submit(self._query.processAllAvailable)
        return self._done(self._closed)

    def resting(self, query: StreamingQuery) -> bool:
        """Whether Spark has processed what was offered, or no epoch runs where none may begin."""
        if not self._gate.open_always:
            return super().resting(query)
        return all(each.done() for each in (self._drained, self._closed) if each is not None)

    def _done(self, future: Future[None]) -> bool:
        if not future.done():
            return False
        try:
            future.result()
        except StreamingQueryException:
            if self._gate.turned_away:
                return False
            raise
        return True


class OffsetsEnd(End):
    """Of topics, which may grow while they are read: it is where they ended when the run began.

    The query goes on taking records in, which are dropped, until its windows are closed.

    Parameters
    ----------
    checkpoint
        Of the query.
    offsets
        Where the input ends; a run that follows its topics does not come to an end.
    close
        Whether windows are closed. An epoch that has only begun is turned away by a pause, which
        follows at once where there are none.
    """

    def __init__(self, checkpoint: Store, offsets: OffsetRange, *, close: bool) -> None:
        self._logs = SparkLogs(checkpoint)
        self._offsets = offsets
        self._log = OFFSETS if close else COMMITS

    def read(self) -> bool:
        """Whether the last epoch has reached the offsets."""
        newest = self._logs.newest(self._log)
        return self._offsets.reached(self._offsets.ends_of(self._logs.ends(newest)))

    def closed(self) -> bool:
        """Whether an epoch has followed the one with the closing row, after which it stays read."""
        before = self._logs.newest(COMMITS) - 1
        return any(each == {"closed": 1} for each in self._logs.ends(before))
