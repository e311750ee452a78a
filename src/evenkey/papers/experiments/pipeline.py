"""Scenarios of the pipeline: a grouping on a stream, run on Spark."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import generated
from evenkey.papers.experiments.timed import Timed, TimedRun

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from evenkey.groupings import By
    from evenkey.kafka import ValueFormat
    from evenkey.papers.experiments.scenario import OnMessages, Value
    from evenkey.pipeline.aggregate import PipelineConfig, RunReport
    from evenkey.pipeline.runs import EpochProgress

_SLOTS = 100
"""Task slots of the Spark session, which all scenarios share. This is the maximum number of workers
of a scenario, so that all workers can sleep at the same time."""

_METHODS = 5
"""Each experiment compares three or four methods of its paper, and adds up to two."""

_PREPARED: set[int] = set()
"""Numbers of workers for which this process has already started Python workers. The next run with
the same number of workers reuses the Python workers, so it needs no small run before it."""

_FIGURES = (
    "messages",
    "keys",
    "pairs",
    "max_over_mean",
    "imbalance_fraction",
    "average_imbalance_fraction",
    "stddev_percent",
    "dist_cost",
    "dist_cost_lower_bound",
    "epochs",
)
"""Figures of a report that become figures of the result; no clock measures them."""


@dataclass(frozen=True)
class PipelineRun(Timed):
    """Runs the pipeline on Spark, with a grouping on a stream.

    Sources, workers and aggregators share the machine's cores. A worker sleeps for the cost of its
    messages, so many workers can sleep at the same time (decision 006). Besides figures that
    ``evenkey run --json`` prints, the result has ``latency_mean_ms``, ``epoch_pairs_mean`` and
    ``epoch_pairs_max``. The latter two are numbers of (key, worker) pairs in an epoch: the counters
    that all workers together hold before they send the counters to the aggregators.

    Parameters
    ----------
    grouping, workers, sources, splitters, cost_ms, epochs, aggregators, arrival_rate
        As for `evenkey.pipeline.aggregate.PipelineConfig`.
    route_by, observe_by
        As for `evenkey.pipeline.aggregate.PipelineConfig`.
    from_file
        Whether the stream is first written to a file and then read from the file. This is for
        power laws with millions of keys, which are slow to draw from in every source.
    kafka
        Kafka servers, ``HOST:PORT`` separated by commas; the stream is read from a topic on these
        servers. None: the stream is generated.
    """

    kind: ClassVar[str] = "pipeline"

    grouping: str
    workers: int
    sources: int = 5
    splitters: int | None = None
    cost_ms: float = 0.0
    epochs: int = 8
    aggregators: int = 4
    arrival_rate: float | None = None
    from_file: bool = False
    kafka: str | None = None
    route_by: By = "messages"
    observe_by: By = "messages"

    @property
    def at_once(self) -> int:
        """The number of methods that an experiment compares."""
        return _METHODS

    def through(self, kafka: str) -> Self:
        """Return the same scenario with its stream read from a Kafka topic."""
        if self.arrival_rate is not None:
            message = (
                f"kafka = {kafka!r}: messages arrive at {self.arrival_rate:,.0f} a second here, "
                "which only a generated stream supports; leave out kafka"
            )
            raise ConfigurationError(message)
        return dataclasses.replace(self, kafka=kafka, from_file=False)

    def once(self, on_messages: OnMessages | None = None) -> TimedRun:
        """Run the pipeline from its source to the last commit."""
        from evenkey.applications import run
        from evenkey.spark.sessions import change_session

        fresh = change_session(self.kind)
        if fresh:
            _PREPARED.clear()
        warm_up = self.workers not in _PREPARED
        _PREPARED.add(self.workers)

        def show(progress: EpochProgress) -> None:
            if on_messages is not None and progress.messages:
                on_messages(progress.messages)

        with self._input() as given:
            config = self.config(**given)
            if fresh:
                # The first stream of a session is slower, because Java compiles Spark's code.
                run(config)
            return _measured(run(config, on_progress=show, warm_up=warm_up and not fresh))

    @contextlib.contextmanager
    def _input(self) -> Iterator[dict[str, Any]]:
        """Write the stream to a topic or file if needed, and yield the options that read it.

        The topic or file is deleted when the context ends.
        """
        name, messages, seed = self.dataset.name, self.dataset.messages, self.dataset.seed
        rate = self.dataset.rate
        if self.kafka is not None:
            from evenkey.kafka import replayed

            stream = generated(name, messages=messages, seed=seed, rate=rate)
            form: ValueFormat = "json" if stream.weighs else "lines"
            columns = {"split": "json", "key": "key", "count": "count"} if stream.weighs else {}
            with replayed(stream, self.kafka, partitions=self.sources, form=form) as topic:
                yield {"kafka": topic, **columns}
        elif self.from_file:
            from evenkey.core.streams import write_dataset

            with tempfile.TemporaryDirectory(prefix="evenkey-") as directory:
                file = Path(directory) / "stream.txt"
                write_dataset(generated(name, messages=messages, seed=seed), file, "lines")
                yield {"input": file, "split": "lines", "messages": messages, "rate": rate}
        else:
            yield {}

    def config(self, **given: Any) -> PipelineConfig:
        """Return the pipeline's configuration; without `given`, the stream is generated."""
        from evenkey.pipeline.aggregate import PipelineConfig
        from evenkey.spark.sessions import local_master

        stream = self.dataset
        generator = {"dataset": stream.name, "messages": stream.messages, "rate": stream.rate}
        return PipelineConfig(
            **(given or generator),
            seed=self.dataset.seed,
            grouping=self.grouping,
            workers=self.workers,
            sources=self.sources,
            splitters=self.splitters,
            cost_ms=self.cost_ms,
            epochs=self.epochs,
            aggregators=self.aggregators,
            arrival_rate=self.arrival_rate,
            route_by=self.route_by,
            observe_by=self.observe_by,
            master=os.environ.get("SPARK_MASTER") or local_master(_SLOTS),
        )


def _measured(report: RunReport) -> TimedRun:
    figures = report.to_json()
    pairs = [epoch.pairs for epoch in report.epochs]
    kept: dict[str, Value] = {name: figures[name] for name in _FIGURES}
    return TimedRun(
        {**kept, "epoch_pairs_mean": float(np.mean(pairs)), "epoch_pairs_max": max(pairs)},
        {
            "messages_per_second": figures["messages_per_second"],
            "makespan_ms": figures["makespan_ms"],
            "seconds": figures["seconds"],
            "latency_p50_ms": figures["duration_p50_ms"],
            "latency_mean_ms": float(np.mean(report.timing.epoch_ms)),
        },
    )
