"""The end of an epoch: its results are written, then committed, then passed on."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Any

from evenkey.runs.commits import epoch_name
from evenkey.runs.ends import offsets_of
from evenkey.runs.timing import Span, Timing
from evenkey.spark import OVERFLOWS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.runs.commits import Commit, Commits
    from evenkey.runs.directory import RunDirectory
    from evenkey.runs.sinks import Sink

_DROPPED = "numRowsDroppedByWatermark"


class EpochEnd:
    """What a query calls with the results of each epoch.

    An epoch's parts count from the one exclusive create that commits it; an epoch that an earlier
    process has committed is computed again for Spark's own state only, and its results are dropped.
    A process that has lost its claim ends here, with one clear line.

    Parameters
    ----------
    spark
        Where the query runs.
    directory
        Of the run, held by this process.
    sink
        Takes the results.
    windowed
        Whether the query drops rows behind a watermark.
    """

    def __init__(
        self, spark: SparkSession, directory: RunDirectory, sink: Sink, *, windowed: bool
    ) -> None:
        self._spark = spark
        self._windowed = windowed
        self._directory = directory
        self._sink = sink
        self._first_began = time.time()

    def write(self, results: DataFrame, epoch: int) -> None:
        """Write an epoch's results, commit the epoch, and pass on what the commit holds."""
        directory = self._directory
        directory.claim.check()
        began = time.time()
        parts = self._sink.write(results, epoch)
        # Without this, what is staged here could be committed late, and rightly; it spares work.
        directory.claim.check()
        figures = {**self._lost(), **self._span(epoch, began)}
        directory.commits.commit(epoch_name(epoch), figures, parts)
        self._sink.committed(results, epoch)

    def _lost(self) -> dict[str, float]:
        """What the epoch that has just run dropped behind its watermark, or could not add up.

        Spark itself reports it only when it has logged the epoch, too late for the epoch's commit.
        """
        if not self._windowed:
            return {"late": 0, "overflows": 0}
        execution = _last_execution(self._spark)
        late = _metric_of(execution.executedPlan()) or 0
        return {"late": late, "overflows": _overflows(execution)}

    def _span(self, epoch: int, called: float) -> dict[str, float]:
        """When the epoch began and ended, and whether it held anything."""
        log = self._directory.checkpoint / "offsets"
        # Spark notes when it began an epoch; of one that an earlier process began, when that did.
        noted = json.loads((log / str(epoch)).read_text().splitlines()[1])["batchTimestampMs"]
        began = max(noted / 1000, self._first_began)
        first, last = offsets_of(log, epoch - 1), offsets_of(log, epoch)
        held = first[:1] != last[:1]
        return {"began": min(began, called), "ended": time.time(), "held": float(held)}


def _last_execution(spark: SparkSession) -> Any:
    query = spark.streams.get(spark.sparkContext.getLocalProperty("sql.streaming.queryId") or "")
    return query._jsq.streamingQuery().lastExecution()  # type: ignore[union-attr] # noqa: SLF001 - PySpark's way to the JVM


def _overflows(execution: Any) -> int:
    """Count the results that are null since a sum does not fit its type."""
    metrics, count = execution.observedMetrics(), 0
    names = metrics.keysIterator()
    while names.hasNext():
        name = names.next()
        if name.startswith(OVERFLOWS):
            count += metrics.apply(name).getLong(0)
    return count


def _metric_of(plan: Any) -> int | None:
    """Find the metric of the one operator that has it; each look at the plan takes time."""
    metric = plan.metrics().get(_DROPPED)
    if metric.isDefined():
        return int(metric.get().value())
    children = plan.children()
    for number in range(children.size()):
        found = _metric_of(children.apply(number))
        if found is not None:
            return found
    return None


def late_rows(commits: Commits) -> int:
    """Count the partial aggregates that came after their window was closed, in all epochs."""
    return int(sum(commit.figures.get("late", 0) for commit in commits.all()))


def overflowed_results(commits: Commits) -> int:
    """Count the results that are null since a sum does not fit its type, in all epochs."""
    return int(sum(commit.figures.get("overflows", 0) for commit in commits.all()))


def earlier_timings(commits: Commits) -> list[Timing]:
    """Tell how long epochs took that earlier processes of the run committed, by process.

    Their times go from Spark's note of an epoch's begin to its commit.
    """
    by_claim: dict[int, list[Commit]] = {}
    for commit in commits.all():
        if commit.claim != commits.claim and "began" in commit.figures:
            by_claim.setdefault(commit.claim, []).append(commit)
    return [_timing(by_claim[claim]) for claim in sorted(by_claim)]


def earlier_spans(commits: Commits) -> dict[int, tuple[int, Span]]:
    """Say when the epochs ran that earlier processes committed, and under which claim, by number.

    Their times go from Spark's note of an epoch's begin to its commit.
    """
    spans = {}
    for epoch in commits.epochs():
        commit = commits.read(epoch_name(epoch))
        if commit is not None and commit.claim != commits.claim and "began" in commit.figures:
            began, ended = 1000 * commit.figures["began"], 1000 * commit.figures["ended"]
            spans[epoch] = (commit.claim, Span(began, 0.0, ended - began))
    return spans


def _timing(commits: Iterable[Commit]) -> Timing:
    spans = [
        (each.figures["began"], each.figures["ended"], each.figures["held"]) for each in commits
    ]
    makespan = max(ended for _, ended, _ in spans) - min(began for began, _, _ in spans)
    lengths = tuple(1000 * (ended - began) for began, ended, held in spans if held)
    return Timing(1000 * makespan, lengths)
