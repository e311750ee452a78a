"""Spark tasks of a learner's run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.compute as pc

from evenkey.pipeline.aggregate import PipelineWorker
from evenkey.spark.sessions import current_task

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from evenkey.pipeline.learn.base import Learner
    from evenkey.pipeline.learn.models import Models
    from evenkey.pipeline.runs import EpochFiles

COUNTERS = "counters"
"""Kind of the epoch files with the workers' counters. Their columns are worker and counters."""
TRIALS = "trials"
"""Kind of the epoch files in which sources report how well the model predicts. Their columns are
records, predicted and right."""


class MessagesTask:
    """Predicts the labels of a source's records, then converts the records to messages.

    Parameters
    ----------
    models
        The models of the run; the task uses the model of the previous epoch.
    files
        Receives how many labels the model predicted correctly, one file per source and epoch.
    """

    def __init__(self, models: Models[Any], files: EpochFiles) -> None:
        self._models = models
        self._files = files

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert the batches of one partition.

        Their columns are ``position``, ``label``, the learner's fields and ``time``.
        """
        _, epoch, source = current_task()
        learner = self._models.learner
        # On a host that does not share the run's files, the task would find no model, and would use
        # the empty model.
        self._files.commits.check_shared()
        model = self._models.read(epoch)
        records, predicted, right, passed_on = 0, 0, 0, 0
        for batch in batches:
            table = pa.Table.from_batches([batch])
            guessed = model.predict(table.select(learner.fields.names))
            records += len(guessed)
            predicted += len(guessed) - guessed.null_count
            right += pc.sum(pc.equal(guessed, table["label"].combine_chunks())).as_py() or 0
            messages = learner.messages(table.select(["label", *learner.fields.names]), model)
            record = messages["record"].combine_chunks()
            placed = [batch["position"].take(record), batch["time"].take(record)]
            columns = messages.drop_columns("record")
            passed_on += messages.num_rows
            yield from pa.table(
                {"position": placed[0], **_columns(columns), "time": placed[1]}
            ).to_batches()
        trial = {"records": [records], "predicted": [predicted], "right": [right]}
        tally = {"took": records, "gave": passed_on}
        self._files.write(TRIALS, epoch, source, pa.table(trial), **tally)


class LearningWorker(PipelineWorker):
    """A pipeline's worker that reports the number of counters in its partial aggregates.

    Parameters
    ----------
    learner
        The learner; its method `counters` counts the counters.
    aggregator
        The learner's aggregator, bound to the schema of the messages.
    files
        Receives the reports of workers.
    cost_seconds
        See `PipelineWorker`.
    """

    def __init__(
        self, learner: Learner[Any], aggregator: Any, files: EpochFiles, cost_seconds: float
    ) -> None:
        super().__init__(aggregator, ("key",), files, cost_seconds)
        self._learner = learner

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Aggregate the batches of one partition, and report the number of counters."""
        counters = 0
        for batch in super().__call__(batches):
            counters += self._learner.counters(pa.Table.from_batches([batch]))
            yield batch
        _, epoch, worker = current_task()
        held = pa.table({"worker": pa.array([worker], pa.int32()), "counters": [counters]})
        self._files.write(COUNTERS, epoch, worker, held)


def _columns(table: pa.Table) -> dict[str, pa.ChunkedArray]:
    return dict(zip(table.column_names, table.columns, strict=True))
