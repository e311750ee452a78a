"""Detect the end of a run's input; for topics, which can grow, offsets determine the end."""

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
    """Detects the end of a query's input, without waiting for it."""

    @abstractmethod
    def read(self) -> bool:
        """Return whether all input was processed; if the query failed, raise its error."""

    @abstractmethod
    def closed(self) -> bool:
        """Return whether all windows are closed; called only after the closing file was made."""

    def resting(self, query: StreamingQuery) -> bool:
        """Return whether no epoch runs; called only after the pause file was made."""
        return not query.status["isTriggerActive"]


class DrainedEnd(End):
    """The end of a finite source, or of a source that offers nothing more because of a pause.

    Parameters
    ----------
    query
        The query that reads the source.
    gate
        The gate of the query's epochs. If the gate rejects an epoch, the error that ends the query
        is ignored.
    stack
        The end of this stack ends the thread that waits for the query. The query must be stopped
        before.
    """

    def __init__(self, query: StreamingQuery, gate: Gate, stack: contextlib.ExitStack) -> None:
        self._query = query
        self._gate = gate
        self._pool = stack.enter_context(ThreadPoolExecutor(max_workers=1))
        # Wait from the start: a pause may be requested before the first call of `read`.
        self._drained = self._pool.submit(query.processAllAvailable)
        self._closed: Future[None] | None = None

    def read(self) -> bool:
        """Return whether Spark has processed everything that the source offered."""
        return self._done(self._drained)

    def closed(self) -> bool:
        """Return whether Spark has also processed the closing row."""
        self._closed = self._closed or self._pool.submit(self._query.processAllAvailable)
        return self._done(self._closed)

    def resting(self, query: StreamingQuery) -> bool:
        """Return whether no epoch runs and no further epoch may begin."""
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
    """The end of topics, which may grow during a run: their end offsets at the start of the run.

    Until its windows are closed, the query continues to read records. These records are dropped.

    Parameters
    ----------
    checkpoint
        The checkpoint of the query.
    offsets
        The range of offsets to read; it has no end if the run follows its topics.
    close
        Whether windows are closed at the end. If so, the end is reached when the last epoch has
        begun. Otherwise the last epoch must be complete, because a pause follows, which can reject
        an epoch that has only begun.
    """

    def __init__(self, checkpoint: Store, offsets: OffsetRange, *, close: bool) -> None:
        self._logs = SparkLogs(checkpoint)
        self._offsets = offsets
        self._log = OFFSETS if close else COMMITS

    def read(self) -> bool:
        """Return whether the newest epoch has reached the end offsets."""
        newest = self._logs.newest(self._log)
        return self._offsets.reached(self._offsets.ends_of(self._logs.ends(newest)))

    def closed(self) -> bool:
        """Return whether an epoch after the epoch with the closing row is complete."""
        before = self._logs.newest(COMMITS) - 1
        return any(each == {"closed": 1} for each in self._logs.ends(before))
