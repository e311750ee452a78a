"""End an epoch: write its results, commit them, and let the sink pass them on."""

from __future__ import annotations

import time
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

from evenkey.pipeline.runs.driving.run_topics import NO_TOPICS
from evenkey.pipeline.runs.output.commits import epoch_name
from evenkey.pipeline.runs.output.spark_logs import SparkLogs
from evenkey.spark.aggregates import OVERFLOWS

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.pipeline.runs.output.directory import RunDirectory
    from evenkey.pipeline.runs.output.parts import Part
    from evenkey.pipeline.runs.output.sinks import Sink
    from evenkey.pipeline.runs.output.tallies import Tallies

READ = "evenkey-read"
"""Name of the Spark observation with the number of records that a job has read from topics."""

_DROPPED = "numRowsDroppedByWatermark"


@dataclass
class EpochEnd:
    """Writes and commits the results of each epoch; the query calls `write` for each epoch.

    An epoch's parts are committed by one exclusive create. An epoch that an earlier process has
    committed may run again, because Spark needs it for the state of its operators. Its results are
    then dropped. A process that has lost its claim ends here, with an error of one line.

    Parameters
    ----------
    spark
        The session of the query.
    directory
        Directory of the run, held by this process.
    sink
        Receives the results.
    windowed
        Whether the query drops rows behind a watermark.
    tallies
        Counts that must add up before an epoch is committed; None: no counts are checked.
    check
        Called before each commit; raises an error if a topic of the run is no longer the same as at
        the start of the run.
    """

    spark: SparkSession
    directory: RunDirectory
    sink: Sink
    _: KW_ONLY
    windowed: bool
    tallies: Tallies | None = None
    check: Callable[[], None] = NO_TOPICS.check
    _first_began: float = field(default_factory=time.time, init=False)

    @cached_property
    def _logs(self) -> SparkLogs:
        return SparkLogs(self.directory.checkpoint_files)

    def write(self, results: DataFrame, epoch: int) -> None:
        """Write an epoch's results, commit the epoch, and let the sink pass on the results."""
        directory = self.directory
        directory.claim.check()
        began = time.time()
        parts = self.sink.write(results, epoch)
        # Not needed for correctness, but saves the work of an epoch that cannot be committed.
        directory.claim.check()
        # Kafka never reuses a topic's id: if the topics are the same now, they were the same while
        # this epoch was read.
        self.check()
        figures = {**self._counted(), **self._span(epoch, began)}
        read = self._offered(epoch)

        def add_up(found: Sequence[Part]) -> None:
            if self.tallies is not None:
                self.tallies.check(directory.path, epoch_name(epoch), found, read)

        directory.commits.commit(epoch_name(epoch), figures, parts, add_up)
        self.sink.committed(results, epoch)

    def _offered(self, epoch: int) -> int | None:
        """Return how many rows the source offered; None if the source does not number its rows."""
        first, last = self._logs.ends(epoch - 1), self._logs.ends(epoch)
        if not last or last[0] is None or "position" not in last[0]:
            return None
        begin: int = first[0]["position"] if first and first[0] is not None else 0
        end: int = last[0]["position"]
        return end - begin

    def _counted(self) -> dict[str, float]:
        """Return Spark's counts of the epoch that has just run.

        These are the numbers of late partial results that Spark dropped, of sums that overflowed,
        and of records read from topics. Spark's own progress report comes too late for the epoch's
        commit, because Spark reports an epoch only after it has logged the end of the epoch.
        """
        execution = _last_execution(self.spark)
        late = (_metric_of(execution.executedPlan()) or 0) if self.windowed else 0
        overflows, read = _observed(execution, OVERFLOWS), _observed(execution, READ)
        return {"late": late, "overflows": overflows, "read": read}

    def _span(self, epoch: int, called: float) -> dict[str, float]:
        """Return when the epoch began and ended, and whether it had any rows."""
        # Spark logs when an epoch began, even if an earlier process began it.
        noted = self._logs.begun(epoch)
        began = max(called if noted is None else noted.at, self._first_began)
        first, last = self._logs.ends(epoch - 1), self._logs.ends(epoch)
        held = first[:1] != last[:1]
        return {"began": min(began, called), "ended": time.time(), "held": float(held)}


def _last_execution(spark: SparkSession) -> Any:
    query = spark.streams.get(spark.sparkContext.getLocalProperty("sql.streaming.queryId") or "")
    return query._jsq.streamingQuery().lastExecution()  # type: ignore[union-attr] # noqa: SLF001 - PySpark's way to the JVM


def _observed(execution: Any, prefix: str) -> int:
    """Add up the metrics of Spark observations (`DataFrame.observe`) whose names have a prefix."""
    metrics, count = execution.observedMetrics(), 0
    names = metrics.keysIterator()
    while names.hasNext():
        name = names.next()
        if name.startswith(prefix):
            count += metrics.apply(name).getLong(0)
    return count


def _metric_of(plan: Any) -> int | None:
    """Return the number of late rows that Spark dropped; one operator of the plan counts them."""
    # Stop at the operator that has the metric, because each call to the JVM takes time.
    metric = plan.metrics().get(_DROPPED)
    if metric.isDefined():
        return int(metric.get().value())
    children = plan.children()
    for number in range(children.size()):
        found = _metric_of(children.apply(number))
        if found is not None:
            return found
    return None
