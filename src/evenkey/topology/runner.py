"""Run pipelines: one from its source to its sink, or several groupings side by side."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as NotYet
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from evenkey.spark.session import local_master, session
from evenkey.topology.inputs import Input, open_input
from evenkey.topology.observer import Observer
from evenkey.topology.pipeline import results
from evenkey.topology.report import EpochProgress, Phase, RunReport, Timing
from evenkey.topology.run_directory import RunDirectory
from evenkey.topology.sinks import ConsoleSink, FileSink, MemorySink, Sink
from evenkey.topology.splitting import DEAD_LETTERS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import SparkSession
    from pyspark.sql.streaming import StreamingQuery

    from evenkey.topology.config import PipelineConfig

    OnProgress = Callable[[EpochProgress], None]

__all__ = ["compare", "run"]

_POLL_SECONDS = 0.2
_WARM_UP_MESSAGES_PER_WORKER = 20


def run(
    config: PipelineConfig,
    *,
    on_progress: OnProgress | None = None,
    console: TextIO | None = None,
) -> RunReport:
    """Run a pipeline until its input is processed and its windows are closed.

    A run whose output directory holds an unfinished run of the same configuration goes on
    where that one stopped, however it stopped; nothing is lost and nothing counted twice.

    Parameters
    ----------
    config
        What to run.
    on_progress
        Called when an epoch has ended.
    console
        Where the console sink prints; None is standard output.

    Raises
    ------
    ConfigurationError
        The configuration cannot be run, or the output holds another run.
    RunError
        State that an earlier run left cannot be read.
    """
    config.check_paths()
    with _directory(config) as directory:
        directory.claim(config.manifest())
        spark = _session(config)
        _warm_up(spark, config, on_progress)
        return _execute(spark, config, directory, on_progress, console)


def compare(
    config: PipelineConfig,
    groupings: Sequence[str],
    *,
    on_progress: OnProgress | None = None,
) -> list[RunReport]:
    """Run the same stream under several groupings, one after the other in one session.

    Parameters
    ----------
    config
        What to run; its grouping is replaced. With an output, each grouping gets a
        subdirectory of its own.
    groupings
        Spellings.
    on_progress
        Called when an epoch has ended.
    """
    variants = []
    for grouping in groupings:
        output = None if config.output is None else config.output / _directory_name(grouping)
        sink = "memory" if output is None else config.sink
        update = {"grouping": grouping, "output": output, "sink": sink}
        variants.append(config.with_options(**update))
    return [run(variant, on_progress=on_progress) for variant in variants]


def _directory_name(grouping: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_=." else "_" for letter in grouping)


@contextlib.contextmanager
def _directory(config: PipelineConfig) -> Iterator[RunDirectory]:
    if config.output is not None:
        yield RunDirectory(config.output)
        return
    with tempfile.TemporaryDirectory(prefix="evenkey-run-") as path:
        yield RunDirectory(Path(path))


def _session(config: PipelineConfig) -> SparkSession:
    """A session of the pipeline's own settings, on slots that let all workers wait at once."""
    slots = max(config.workers, os.cpu_count() or 1)
    spark = session(config.master or os.environ.get("SPARK_MASTER") or local_master(slots))
    own = spark.newSession()
    own.conf.set("spark.sql.shuffle.partitions", config.aggregators)
    own.conf.set("spark.sql.session.timeZone", "UTC")
    return own


def _warm_up(
    spark: SparkSession, config: PipelineConfig, on_progress: OnProgress | None
) -> None:
    """Start the Python workers and compile the kernels, so that no epoch pays for it."""
    if on_progress is not None:
        grouping = str(config.resolved_grouping())
        on_progress(EpochProgress(grouping, -1, 0, None, 0.0, 0.0, "warming up"))
    messages = _WARM_UP_MESSAGES_PER_WORKER * config.workers
    small = config.with_options(
        dataset="uniform(keys=50)",
        input=(),
        split=None,
        key=None,
        count=None,
        messages=messages,
        rate=None,
        epochs=1,
        epoch_messages=None,
        aggregator="count",
        cost_ms=0.0,
        reference_defaults=False,
        time_limit=None,
        output=None,
        sink="memory",
    )
    with _directory(small) as directory:
        _execute(spark, small, directory, None, None)


def _execute(
    spark: SparkSession,
    config: PipelineConfig,
    directory: RunDirectory,
    on_progress: OnProgress | None,
    console: TextIO | None,
) -> RunReport:
    started = time.monotonic()
    directory.paused.unlink(missing_ok=True)
    source = open_input(spark, config, directory)
    sink = _sink(config, directory, console)
    observer = Observer(directory.files, config.workers)
    watch = _Watch(config, source, observer, on_progress)
    query = (
        results(source.messages, config, directory)
        .writeStream.foreachBatch(sink.write)
        .option("checkpointLocation", str(directory.checkpoint))
        .outputMode("append")
        .start()
    )
    finished = _drive(query, config, directory, watch)
    observer.catch_up()
    metrics = observer.metrics()
    lines, rejected = source.lines_and_rejected() or (metrics.messages, 0)
    kept = config.output is not None
    return RunReport(
        dataset=source.name,
        grouping=str(config.resolved_grouping()),
        workers=config.workers,
        sources=source.sources,
        metrics=metrics,
        epochs=tuple(observer.epochs),
        timing=_timing(query),
        seconds=time.monotonic() - started,
        lines=lines,
        rejected=rejected,
        late=_late(query),
        finished=finished,
        results=directory.results if kept and isinstance(sink, FileSink) else None,
        dead_letters=directory.path / DEAD_LETTERS if kept else None,
        state=directory.state if kept else None,
        table=sink.table() if isinstance(sink, MemorySink) else None,
    )


def _sink(config: PipelineConfig, directory: RunDirectory, console: TextIO | None) -> Sink:
    if config.sink == "memory":
        return MemorySink()
    if config.sink == "console":
        return ConsoleSink(console)
    return FileSink(directory.results, "json" if config.sink == "jsonl" else "parquet")


def _drive(
    query: StreamingQuery, config: PipelineConfig, directory: RunDirectory, watch: _Watch
) -> bool:
    """See a query to its end; returns whether it got there before its time limit.

    Never stops the query inside an epoch: a pause asks the source for no more data and lets
    the epoch end.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        drained = pool.submit(query.processAllAvailable)
        deadline = None if config.time_limit is None else time.monotonic() + config.time_limit
        try:
            _await(drained, directory, watch.running(query), deadline)
            finished = not directory.paused.exists()
            if finished:
                directory.closing.touch()
                closed = pool.submit(query.processAllAvailable)
                _await(closed, directory, watch.closing(query), None)
        except KeyboardInterrupt:
            directory.paused.touch()
            drained.result()
            raise
        finally:
            query.stop()
    return finished


def _await(
    future: Future[None],
    directory: RunDirectory,
    tell: Callable[[], None],
    deadline: float | None,
) -> None:
    while True:
        with contextlib.suppress(NotYet):
            future.result(_POLL_SECONDS)
            tell()
            return
        tell()
        if deadline is not None and time.monotonic() > deadline:
            directory.paused.touch()


class _Watch:
    """Tells of each epoch once it has ended."""

    def __init__(
        self,
        config: PipelineConfig,
        source: Input,
        observer: Observer,
        on_progress: OnProgress | None,
    ) -> None:
        self._grouping = str(config.resolved_grouping())
        self._expected = source.expected
        self._observer = observer
        self._on_progress = on_progress
        self._last = -1
        self._started = time.monotonic()

    def running(self, query: StreamingQuery) -> Callable[[], None]:
        return lambda: self._tell(query, "running")

    def closing(self, query: StreamingQuery) -> Callable[[], None]:
        return lambda: self._tell(query, "closing")

    def _tell(self, query: StreamingQuery, phase: Phase) -> None:
        progress = query.lastProgress
        if self._on_progress is None or progress is None or progress["batchId"] <= self._last:
            return
        self._last = progress["batchId"]
        self._observer.catch_up(self._last)
        if not self._observer.epochs:
            return
        messages = self._observer.messages
        self._on_progress(
            EpochProgress(
                self._grouping,
                self._last,
                messages,
                self._expected,
                self._observer.epochs[-1].max_over_mean,
                messages / (time.monotonic() - self._started),
                phase,
            )
        )


def _epochs(query: StreamingQuery) -> list[dict[str, Any]]:
    """Progress of the epochs that ran, without the reports of an idle query."""
    return [each for each in query.recentProgress if "addBatch" in each["durationMs"]]


def _timing(query: StreamingQuery) -> Timing:
    epochs = _epochs(query)
    if not epochs:
        return Timing(0.0, ())
    starts = [datetime.fromisoformat(each["timestamp"]).timestamp() * 1000 for each in epochs]
    lengths = [float(each["durationMs"]["triggerExecution"]) for each in epochs]
    last = max(start + length for start, length in zip(starts, lengths, strict=True))
    held = [
        length
        for each, length in zip(epochs, lengths, strict=True)
        if each["sources"][0]["numInputRows"]
    ]
    return Timing(last - min(starts), tuple(held))


def _late(query: StreamingQuery) -> int:
    return sum(
        operator["numRowsDroppedByWatermark"]
        for each in _epochs(query)
        for operator in each["stateOperators"]
    )
