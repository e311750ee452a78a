"""See a query over topics to the end of its run: its source itself knows none."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, Any

from pyspark.errors import StreamingQueryException

from evenkey.runs.driving import relay_pause
from evenkey.runs.epochs import offsets_of
from evenkey.runs.interruption import pausing

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.kafka.offsets import OffsetRange
    from evenkey.runs.directory import RunDirectory
    from evenkey.runs.driving import Watcher
    from evenkey.runs.epochs import EpochEnd

__all__ = ["Gate", "drive_topics"]

_POLL_SECONDS = 0.2
_PAUSED = "evenkey: the run is paused"
_PY4J = logging.getLogger("py4j.clientserver")


class PausedError(Exception):
    """An epoch was not begun, because the run is to pause; it runs when the run goes on."""


class Gate:
    """Lets no epoch begin once a run is to pause: a source of topics cannot be asked to.

    The epoch that it turns away has done no work yet. Its offsets are in the checkpoint, so
    it runs first when the run goes on.

    Parameters
    ----------
    end
        Is called with the results of each epoch.
    paused
        The sign.
    """

    def __init__(self, end: EpochEnd, paused: Path) -> None:
        self._end = end
        self._paused = paused

    def write(self, results: DataFrame, epoch: int) -> None:
        """Pass an epoch's results on."""
        if self._paused.exists():
            raise PausedError(_PAUSED)
        self._end.write(results, epoch)


def drive_topics(
    spark: SparkSession,
    query: StreamingQuery,
    directory: RunDirectory,
    watch: Watcher,
    offsets: OffsetRange,
    *,
    time_limit: float | None = None,
    close: bool = True,
) -> bool:
    """See a query to the end of its offsets, then close its windows, and stop it.

    Never stops the query inside an epoch. Topics may grow meanwhile: the query goes on taking
    records in, which are dropped, until its windows are closed.

    Parameters
    ----------
    spark
        Where the query runs.
    query
        Just started, with a `Gate`.
    offsets
        Where it ends; a run that follows its topics ends by its time limit or interrupted.
    directory, watch, time_limit, close
        As for `drive`.

    Returns
    -------
    bool
        Whether it got to the end, and closed its windows, before its time limit.
    """
    deadline = None if time_limit is None else time.monotonic() + time_limit

    # An epoch that has only begun is turned away by a pause, which follows at once without closing.
    log = "offsets" if close else "commits"

    def read_all() -> bool:
        return offsets.total == 0 or any(map(offsets.reached, _last(directory.checkpoint, log)))

    def over() -> bool:
        relay_pause(directory)
        late = deadline is not None and time.monotonic() > deadline
        return late or directory.paused.exists()

    _PY4J.addFilter(_no_pause)
    with pausing(directory.paused):
        try:
            finished = _until(read_all, query, watch.running(query), over)
            if finished and close:
                # While the last epoch of records still runs: the next one then has the closing row.
                directory.claim.check()
                directory.closing.touch()
                closed = watch.closing(query)
                finished = _until(lambda: _closed(directory.checkpoint), query, closed, over)
            if not finished:
                watch.pausing()
        finally:
            _pause(spark, query, directory)
            _PY4J.removeFilter(_no_pause)
    return finished


def _until(
    reached: Callable[[], bool],
    query: StreamingQuery,
    tell: Callable[[], None],
    over: Callable[[], bool],
) -> bool:
    while not reached():
        if over():
            return False
        _wait(query)
        tell()
    return True


def _wait(query: StreamingQuery) -> None:
    """Wait a little; raise what has ended the query, unless that is a pause."""
    time.sleep(_POLL_SECONDS)
    if not query.isActive:
        try:
            query.awaitTermination()
        except StreamingQueryException as error:
            if _PAUSED not in str(error):
                raise


def _pause(spark: SparkSession, query: StreamingQuery, directory: RunDirectory) -> None:
    """Let the epoch that runs end, and no other begin."""
    context = spark.sparkContext
    directory.paused.touch()
    # Spark takes the end by a pause for an error, and would print all of its plan.
    context.setLogLevel("OFF")
    try:
        while query.isActive and query.status["isTriggerActive"]:
            _wait(query)
        query.stop()
    finally:
        context.setLogLevel(context.getConf().get("spark.log.level", "WARN") or "WARN")


def _no_pause(record: logging.LogRecord) -> bool:
    """Keep a pause out of the log of errors."""
    return record.exc_info is None or not isinstance(record.exc_info[1], PausedError)


def _last(checkpoint: Path, log: str) -> list[dict[str, Any]]:
    """Offsets of the sources at the end of the last epoch of a log: ``offsets`` or ``commits``."""
    epochs = [int(path.name) for path in (checkpoint / log).glob("[0-9]*")]
    end = offsets_of(checkpoint / "offsets", max(epochs)) if epochs else []
    return [each for each in end if each is not None]


def _closed(checkpoint: Path) -> bool:
    """Whether an epoch has followed the one with the closing row, and so closed all windows."""
    epochs = sorted(int(path.name) for path in (checkpoint / "commits").glob("[0-9]*"))
    ends = (offsets_of(checkpoint / "offsets", epoch) for epoch in epochs[:-1])
    return any(each.get("closed") == 1 for end in ends for each in end if each is not None)
