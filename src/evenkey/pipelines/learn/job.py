"""A learner's work on Spark, in the place of the pipeline's own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TextIO, cast

import pyarrow as pa
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructField, StructType

from evenkey.pipelines.aggregate.inputs import Found
from evenkey.pipelines.aggregate.plan import routed_messages
from evenkey.pipelines.aggregate.splitting import DEAD_LETTERS, SPLITS
from evenkey.pipelines.learn.kept_records import keep_records
from evenkey.pipelines.learn.models import Models
from evenkey.pipelines.learn.reading import FileRecords, GeneratedRecords
from evenkey.pipelines.learn.report import LearningReport, epochs_learned
from evenkey.pipelines.learn.tasks import LearningWorker, MessagesTask
from evenkey.runs.job import Job
from evenkey.runs.recalling import keep_reading, recall_reading, tuples
from evenkey.runs.sinks import Sink
from evenkey.spark.aggregate import WORKER, merge_partials, messages_of, partial_aggregates
from evenkey.spark.place import place
from evenkey.streams.row_groups import RowGroup, row_groups

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from evenkey.aggregators import Aggregator
    from evenkey.applications.config import ApplicationConfig
    from evenkey.pipelines.aggregate.config import PipelineConfig
    from evenkey.pipelines.learn.learner import Learner
    from evenkey.runs.directory import RunDirectory
    from evenkey.runs.parts import Part
    from evenkey.runs.report import RunReport

__all__ = ["LearnerJob"]


class LearnerJob(Job):
    """Records to messages, routed and aggregated on workers, merged into the next model.

    Parameters
    ----------
    learner
        What learns.
    """

    windowed = False

    def __init__(self, learner: Learner[Any]) -> None:
        self._learner = learner

    def find(self, config: PipelineConfig, directory: RunDirectory) -> Found:
        """Find generated records, or read those of files, once for all runs that go on."""
        told = cast("ApplicationConfig", config)
        if not told.input:
            stream = told.labelled()
            return Found(stream.name, GeneratedRecords(stream, told), None)
        target = directory.unpacked / "records.parquet"
        name = ", ".join(map(str, told.input))
        if directory.begun:
            fields, _ = recall_reading(directory.reading)
            groups = [RowGroup(*tuples(each)) for each in fields["groups"]]
            return Found(name, FileRecords(target, told, groups), None)
        kept = keep_records(told, self._learner, target, directory.unpacked)
        directory.dead_letters.write(DEAD_LETTERS, 0, 0, kept.rejected)
        bad = kept.rejected.num_rows
        directory.files.write(
            SPLITS, 0, 0, pa.table({"lines": [kept.rows + bad], "rejected": [bad]})
        )
        groups = row_groups(target)
        keep_reading(directory, {"kind": "records", "groups": groups})
        return Found(name, FileRecords(target, told, groups), None)

    def plan(self, rows: DataFrame, config: PipelineConfig, directory: RunDirectory) -> DataFrame:
        """Plan the partial aggregates of each epoch: ``key`` and state, by worker."""
        models = self._models(directory)
        messages = rows.mapInArrow(MessagesTask(models, directory.files), self._schema(rows))
        routed = routed_messages(messages, config, directory)
        held, bound = messages_of(routed, "key", self._learner.aggregator, time=None, window=None)
        cost_seconds = config.cost_ms / 1000 / config.speed
        worker = LearningWorker(self._learner, bound, directory.files, cost_seconds)
        return partial_aggregates(place(held, config.workers, column=WORKER), worker)

    def sink(self, config: PipelineConfig, directory: RunDirectory, console: TextIO | None) -> Sink:
        """Make what merges an epoch's partial aggregates into the next model."""
        del config, console
        return _ModelSink(self._models(directory), self._bound())

    def report(self, report: RunReport, directory: RunDirectory) -> RunReport:
        """Add the model, and what was learned in each epoch."""
        models = self._models(directory)
        kept = report.state is not None
        last = models.numbers()
        return LearningReport(
            **vars(report),
            application=str(self._learner),
            learned=epochs_learned(directory.files),
            model=models.read(),
            model_file=models.path(last[-1]) if kept and last else None,
        )

    def _models(self, directory: RunDirectory) -> Models[Any]:
        return Models(directory.path / "models", self._learner)

    def _messages(self) -> pa.Schema:
        """What the learner's messages look like, of none."""
        learner = self._learner
        nothing = pa.schema([("label", pa.string()), *learner.fields]).empty_table()
        return learner.messages(nothing, learner.start()).drop_columns("record").schema

    def _bound(self) -> Aggregator:
        return self._learner.aggregator.bind(self._messages())

    def _schema(self, rows: DataFrame) -> StructType:
        own: list[StructField] = from_arrow_schema(self._messages()).fields
        return StructType([rows.schema["position"], *own, rows.schema["time"]])


class _ModelSink(Sink):
    """Learns from an epoch's partial aggregates; an epoch that runs again learns the same."""

    def __init__(self, models: Models[Any], aggregator: Aggregator) -> None:
        self.models = models
        self._aggregator = aggregator

    def write(self, results: DataFrame, epoch: int) -> Sequence[Part]:
        """Merge by key, learn, and write the model that the next epoch starts from."""
        finished = merge_partials(results, self._aggregator, window=None, watermark="0 seconds")
        merged = finished.toArrow()
        order = [(name, "ascending") for name in merged.column_names[:1]]
        learner = self.models.learner
        model = learner.learn(self.models.read(epoch), merged.sort_by(order))
        self.models.write(epoch + 1, model)
        return ()
