"""The job of a learner's run: convert records to messages, aggregate them, learn the next model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.types import StructField, StructType

from evenkey.core.streams import RowGroup, find_files
from evenkey.pipeline.aggregate import (
    KeyedWork,
    RunReport,
    keyed_session,
    routed_messages,
    warm_up,
)
from evenkey.pipeline.learn.config import LearnConfig
from evenkey.pipeline.learn.kept_records import keep_records
from evenkey.pipeline.learn.labelled_streams import labelled
from evenkey.pipeline.learn.learning_tasks import TRIALS, LearningWorker, MessagesTask
from evenkey.pipeline.learn.models import Models
from evenkey.pipeline.learn.record_readings import FileRecords, GeneratedRecords
from evenkey.pipeline.learn.report import LearningReport, epochs_learned
from evenkey.pipeline.options import check_configuration
from evenkey.pipeline.runs import (
    Job,
    Prepared,
    Sink,
    keep_reading,
    recall_reading,
    stream_of,
    tuples,
)
from evenkey.spark.aggregates import merge_partials, worked
from evenkey.spark.sessions import from_arrow_schema

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.aggregators import Aggregator
    from evenkey.core.stores import Store
    from evenkey.pipeline.exporters import RunInfo
    from evenkey.pipeline.learn.base import Learner
    from evenkey.pipeline.learn.kept_records import Kept
    from evenkey.pipeline.runs import Outcome, Part, Recorder, RunDirectory

    Records = FileRecords | GeneratedRecords

_RECORDS = "state/input/records.parquet"
"""Name of the object with the valid records of the input files, which are read only once."""


class LearnJob(Job[LearningReport]):
    """Converts records to messages, aggregates the messages, and learns the next model.

    Parameters
    ----------
    learner
        The learner.
    config
        The input and options of the run.
    """

    def __init__(self, learner: Learner[Any], config: LearnConfig) -> None:
        check_configuration(config, LearnConfig)
        self.options = self._config = config
        self._learner = learner

    @property
    def name(self) -> str:
        """The spelling of the grouping."""
        return str(self._config.resolved_grouping())

    def restored(self, record: Mapping[str, Any], directory: RunDirectory) -> LearningReport:
        """Return the report of a finished run."""
        return _reported(vars(RunReport.restored(record, directory)), self._learner, directory)

    def input_files(self) -> Sequence[Path]:
        """Find the files that the option ``input`` names."""
        return find_files(self._config.input)

    def find(self, directory: RunDirectory) -> _FoundRecords:
        """Find generated records or the records of files; a run reads the files only once."""
        config = self._config
        if not config.input:
            stream = labelled(
                config.dataset,
                self._learner.streams,
                messages=config.messages,
                seed=config.seed,
            )
            records = GeneratedRecords(stream, config)
            return _FoundRecords(self.name, self._learner, config, stream.name, records)
        if directory.begun:
            fields, _ = recall_reading(directory.store)
            groups = [RowGroup(*tuples(each)) for each in fields["groups"]]
        else:

            def write(file: Path) -> tuple[Kept, list[RowGroup]]:
                kept = keep_records(config, self._learner, file, file.parent)
                return kept, RowGroup.find(file)

            kept, groups = directory.keep_file(_RECORDS, write)
            directory.dead_letters.write(directory.files.DEAD_LETTERS, 0, 0, kept.rejected)
            bad = kept.rejected.num_rows
            counts = pa.table({"lines": [kept.rows + bad], "rejected": [bad]})
            directory.files.write(directory.files.SPLITS, 0, 0, counts)
            keep_reading(directory, {"kind": "records", "groups": groups})
        name = ", ".join(map(str, config.input))
        read = FileRecords(directory.store, _RECORDS, config, groups)
        return _FoundRecords(self.name, self._learner, config, name, read)

    def session(self) -> SparkSession:
        """Return a session with the same settings as for a pipeline."""
        config = self._config
        return self.classic(keyed_session(config, shuffle_partitions=config.aggregators))


@dataclass(frozen=True)
class _FoundRecords(Prepared[LearningReport]):
    name: str
    learner: Learner[Any]
    config: LearnConfig
    dataset: str
    records: Records

    def info(self, history: Store | None) -> RunInfo:
        """Return the run's properties."""
        config = self.config
        return self.who_runs(
            self.name,
            self.dataset,
            workers=config.workers,
            sources=config.sources,
            history=history,
        )

    def warm_up(self, spark: SparkSession, directory: RunDirectory) -> None:
        """Warm up with a small stream of the pipeline."""
        warm_up(spark, self.config, directory)

    def open(
        self, spark: SparkSession, directory: RunDirectory, recorder: Recorder | None
    ) -> _LearnWork:
        """Open the records, and build the query that computes the partial aggregates of workers."""
        config, reading = self.config, self.records
        rows = stream_of(
            spark,
            reading,
            sources=config.sources,
            epoch_messages=config.epoch_positions(reading.total),
            stop_file=directory.paused,
            arrival_rate=config.arrival_rate,
        )
        models = _models(self.learner, directory)
        messages = rows.mapInArrow(MessagesTask(models, directory.files), self._schema(rows))
        routed = routed_messages(messages, config, directory)

        def worker(bound: Aggregator, by: tuple[str, ...]) -> LearningWorker:
            del by
            return LearningWorker(self.learner, bound, directory.files, config.cost_seconds)

        partials, _ = worked(
            routed,
            "key",
            self.learner.aggregator,
            config.workers,
            worker,
            time=None,
            window=None,
        )
        work = _LearnWork(
            spark,
            config,
            directory,
            recorder,
            name=self.dataset,
            rows=partials,
            sink=_ModelSink(models, self.learner.aggregator.bind(self._messages())),
            expected=reading.total,
            routers=config.sources,
            reported=lambda figures: _reported(figures, self.learner, directory),
        )
        work.tallied_by(TRIALS)
        return work

    def _messages(self) -> pa.Schema:
        """Return the schema of the learner's messages, without ``record``."""
        learner = self.learner
        nothing = pa.schema([("label", pa.string()), *learner.fields]).empty_table()
        return learner.messages(nothing, learner.start()).drop_columns("record").schema

    def _schema(self, rows: DataFrame) -> StructType:
        own: list[StructField] = from_arrow_schema(self._messages()).fields
        return StructType([rows.schema["position"], *own, rows.schema["time"]])


def _reported(
    figures: Mapping[str, Any], learner: Learner[Any], directory: RunDirectory
) -> LearningReport:
    """Return the report of a run, with the last model and learning figures per epoch."""
    models = _models(learner, directory)
    last = models.numbers()
    kept = figures["state"] is not None
    return LearningReport(
        **figures,
        application=str(learner),
        learned=epochs_learned(directory.files),
        model=models.read(),
        model_file=directory.place(f"models/{models.name(last[-1])}") if kept and last else None,
    )


def _models(learner: Learner[Any], directory: RunDirectory) -> Models[Any]:
    return Models(directory.store.under("models"), learner)


class _LearnWork(KeyedWork[LearningReport]):
    def __init__(
        self,
        *given: Any,
        reported: Callable[[Mapping[str, Any]], LearningReport],
        **named: Any,
    ) -> None:
        super().__init__(*given, **named)
        self._reported = reported

    def report(self, outcome: Outcome) -> LearningReport:
        """Return the report of the run, with the last model and learning figures per epoch."""
        return self._reported(self.figures(outcome))


class _ModelSink(Sink):
    """Learns from an epoch's partial aggregates; an epoch that runs again makes the same model."""

    def __init__(self, models: Models[Any], aggregator: Aggregator) -> None:
        self.models = models
        self._aggregator = aggregator

    def write(self, results: DataFrame, epoch: int) -> Sequence[tuple[Part, str]]:
        """Merge the partial aggregates by key, learn, and write the model for the next epoch."""
        finished = merge_partials(results, self._aggregator, window=None, watermark="0 seconds")
        merged = finished.toArrow()
        order = [(name, "ascending") for name in merged.column_names[:1]]
        learner = self.models.learner
        model = learner.learn(self.models.read(epoch), merged.sort_by(order))
        self.models.write(epoch + 1, model)
        return ()
