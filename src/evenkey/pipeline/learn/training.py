"""Learn from a batch DataFrame, in one pass or in several."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql import Observation
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from evenkey.aggregators import WORKER
from evenkey.core.checking import whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.learn.base import check_learner
from evenkey.pipeline.learn.vetting import REASON, vetted_records
from evenkey.spark import route
from evenkey.spark.aggregates import WorkerTask, merge_partials, worked
from evenkey.spark.keys import check_frame
from evenkey.spark.sessions import from_arrow_schema, in_workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from evenkey.groupings import Grouping
    from evenkey.pipeline.learn.base import Learner, Model, ModelT

logger = logging.getLogger(__name__)


def train(
    df: DataFrame,
    learner: Learner[ModelT],
    *,
    grouping: str | Grouping = "pkg",
    workers: int = 4,
    passes: int = 1,
    model: ModelT | None = None,
) -> ModelT:
    """Learn from labelled records on balanced workers; each pass over the records is an epoch.

    Parameters
    ----------
    df
        A batch DataFrame with the column ``label`` and the columns of the learner's `fields`; its
        partitions are the sources. Rows with a null, an empty label or a number that is not finite
        are left out. A warning says how many rows are left out, and
        ``evenkey.applications.rejected_records(df, learner)`` returns them, with the reasons.
    learner
        The learner.
    grouping
        The grouping that sends the learner's messages to workers, or its spelling, such as
        ``"pkg(choices=3)"``.
    workers
        Number of workers, at least 1.
    passes
        Number of passes over all records, at least 1. Each pass adds one level to the tree of a
        `DecisionTree`. `NaiveBayes` needs one pass; a second pass would count all records again.
    model
        The model to continue from; default: the empty model.

    Returns
    -------
    Model
        The model of the last pass.

    Raises
    ------
    ConfigurationError
        The DataFrame is streaming (``evenkey run --application`` reads streams) or lacks a column;
        `passes` is below 1; or `evenkey.spark.route` raises this error.

    Examples
    --------
    >>> import pyarrow as pa
    >>> from evenkey.applications import NaiveBayes
    >>> rows = [("tea", "green tea"), ("bar", "bar of gold"), ("tea", None)]
    >>> df = spark.createDataFrame(rows, "label string, text string")
    >>> model = train(df.limit(2), NaiveBayes(), workers=2)
    >>> model.predict(pa.table({"text": ["gold", "tea"]})).to_pylist()
    ['bar', 'tea']
    """
    check_frame(df)
    check_learner(learner)
    whole_number("passes", passes)
    if df.isStreaming:
        message = "train() reads batches: use `evenkey run --application` for a stream of records"
        raise ConfigurationError(message)
    if passes < 1:
        message = f"passes = {passes}: must be at least 1"
        raise ConfigurationError(message)
    vetted, seen = vetted_records(df, learner), Observation()
    bad = F.col(REASON).isNotNull()
    counted = vetted.observe(seen, F.count_if(bad).alias("bad"), F.min(REASON).alias("why"))
    records = counted.filter(~bad).drop(REASON)
    model = learner.start() if model is None else model
    for _ in range(passes):
        task = _MessagesTask(learner, model)
        messages = records.mapInArrow(in_workers(records.sparkSession, task), task.schema())
        routed = route(messages, "key", grouping, workers, column=WORKER)
        partials, bound = worked(
            routed, "key", learner.aggregator, workers, WorkerTask, time=None, window=None
        )
        merged = merge_partials(partials, bound, window=None, watermark="0 seconds")
        model = learner.learn(model, merged.toArrow().sort_by("key"))
    bad_ones = seen.get
    if bad_ones["bad"]:
        logger.warning(
            "train: %d records are left out (the reason for one of them: %s); "
            "rejected_records(df, learner) returns them",
            bad_ones["bad"],
            bad_ones["why"],
        )
    return model


class _MessagesTask:
    """Converts a source's records to messages."""

    def __init__(self, learner: Learner[Any], model: Model) -> None:
        self._learner = learner
        self._model = model

    def schema(self) -> StructType:
        """Return the Spark schema of messages."""
        nothing = pa.schema([("label", pa.string()), *self._learner.fields]).empty_table()
        return StructType(from_arrow_schema(self._messages(nothing).schema).fields)

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        """Convert the batches of one partition."""
        for batch in batches:
            yield from self._messages(pa.Table.from_batches([batch])).to_batches()

    def _messages(self, records: pa.Table) -> pa.Table:
        return self._learner.messages(records, self._model).drop_columns("record")
