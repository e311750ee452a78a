"""Classify documents with a model: each as a whole, or word by word on workers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.sql import functions as F
from pyspark.sql.types import StringType, StructField, StructType

from evenkey.aggregators import WORKER
from evenkey.applications.bayes_model import BayesModel, words_of
from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.pipeline.learn import Model, Models
from evenkey.spark import place, route
from evenkey.spark.keys import absent, check_frame, key_columns
from evenkey.spark.sessions import in_workers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame

    from evenkey.groupings import Grouping

_ANSWER = "document string, class int, units bigint"


def classify(df: DataFrame, model: Model | Models[Any], *, column: str = "prediction") -> DataFrame:
    """Add the label that a model predicts to each record; batch or streaming.

    Parameters
    ----------
    df
        Contains the input columns of the model, such as ``text``, with the names and types of its
        learner's fields.
    model
        A model, or the models of a run that may still be learning. With the latter, each task
        uses the model that is the newest when the task starts, so a stream follows the learning. A
        task that runs again may use a newer model.
    column
        Name of the new column: a string, null if the model predicts none.

    Raises
    ------
    ConfigurationError
        The column already exists, or `model` is not a model.

    Examples
    --------
    >>> from evenkey.applications import NaiveBayes
    >>> bayes = NaiveBayes()
    >>> records = pa.table({"label": ["tea", "bar"], "text": ["green tea", "bar of gold"]})
    >>> messages = bayes.messages(records, bayes.start())
    >>> tally = bayes.aggregator
    >>> merged = tally.finish(tally.partial(messages, by=["key"]), by=["key"])
    >>> model = bayes.learn(bayes.start(), merged)
    >>> df = spark.createDataFrame([(1, "some gold"), (2, "more tea")], "id int, text string")
    >>> [(row["id"], row["prediction"]) for row in classify(df, model).collect()]
    [(1, 'bar'), (2, 'tea')]
    """
    check_frame(df)
    if not isinstance(model, Model | Models):
        message = f"model = {shown(model)}: pass a model that train() or a run learned, or Models"
        raise ConfigurationError(message)
    absent(df, column)
    schema = StructType([*df.schema.fields, StructField(column, StringType())])
    return df.mapInArrow(in_workers(df.sparkSession, _PredictTask(model, column)), schema)


class _PredictTask:
    def __init__(self, model: Model | Models[Any], column: str) -> None:
        self._model = model
        self._column = column

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        model = self._model.read() if isinstance(self._model, Models) else self._model
        for batch in batches:
            labels = model.predict(pa.Table.from_batches([batch]))
            names = [*batch.schema.names, self._column]
            yield pa.RecordBatch.from_arrays([*batch.columns, labels], names=names)


def classify_by_words(
    df: DataFrame,
    document: str,
    text: str,
    model: BayesModel,
    *,
    grouping: str | Grouping = "pkg",
    workers: int = 4,
    column: str = "prediction",
) -> DataFrame:
    """Classify a batch of documents word by word on workers.

    A grouping sends each word to a worker, as in a word count. A worker adds up the
    log-probabilities of its words by document and class; then the partial sums of all workers are
    added up by document. Log-probabilities are integer multiples of `UNIT`, so the sums, and
    therefore the labels, equal those of `BayesModel.predict`.

    Parameters
    ----------
    df
        Batch DataFrame with the documents.
    document
        Column that identifies a document; rows with the same value are one document.
    text
        Column with the text, a string.
    model
        Model of naive Bayes.
    grouping, workers
        As for `evenkey.spark.route`.
    column
        Name of the column with the label.

    Returns
    -------
    DataFrame
        `document` (as a string) and `column`.

    Raises
    ------
    ConfigurationError
        A column is missing, or as for `route`.

    Examples
    --------
    >>> from evenkey.applications import NaiveBayes
    >>> bayes = NaiveBayes()
    >>> records = pa.table({"label": ["tea", "bar"], "text": ["green tea", "bar of gold"]})
    >>> messages = bayes.messages(records, bayes.start())
    >>> tally = bayes.aggregator
    >>> merged = tally.finish(tally.partial(messages, by=["key"]), by=["key"])
    >>> model = bayes.learn(bayes.start(), merged)
    >>> df = spark.createDataFrame([(1, "some gold"), (2, "more tea")], "id int, text string")
    >>> labels = classify_by_words(df, "id", "text", model, workers=2)
    >>> sorted((row["id"], row["prediction"]) for row in labels.collect())
    [('1', 'bar'), ('2', 'tea')]
    """
    check_frame(df)
    if not isinstance(model, BayesModel):
        message = f"model = {shown(model)}: pass a model of naive Bayes, or use classify"
        raise ConfigurationError(message)
    number, words = (
        key_columns(df, name, what)[0] for name, what in ((document, "document"), (text, "text"))
    )
    named = df.select(number.cast("string").alias("document"), words.alias("text"))
    asked = named.mapInArrow(in_workers(df.sparkSession, _ask), "document string, word string")
    routed = route(asked, "word", grouping, workers, column=WORKER)
    placed = place(routed, workers, column=WORKER)
    answers = placed.mapInArrow(in_workers(df.sparkSession, _AnswerTask(model)), _ANSWER)
    # A document without words is classified by the priors alone.
    priors = F.array(*(F.lit(int(units)) for units in model.prior))
    known = named.select("document").distinct()
    start = known.select("document", F.posexplode(priors).alias("class", "units"))
    summed = answers.union(start).groupBy("document", "class").agg(F.sum("units").alias("units"))
    # The greatest sum; ties go to the first class.
    best = F.min(F.struct((-F.col("units")).alias("units"), "class")).alias("best")
    labels = F.array(*(F.lit(label) for label in model.labels))
    classified = summed.groupBy("document").agg(best)
    return classified.select(
        F.col("document").alias(document), F.get(labels, F.col("best.class")).alias(column)
    )


def _ask(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        words = words_of(batch["text"])
        line = words["line"].combine_chunks()
        columns = [batch["document"].take(line), words["key"].combine_chunks()]
        yield pa.RecordBatch.from_arrays(columns, names=["document", "word"])


class _AnswerTask:
    """Adds up the log-probabilities of a worker's words by document and class."""

    def __init__(self, model: BayesModel) -> None:
        self._model = model

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        classes = len(self._model.labels)
        for batch in batches:
            documents = batch["document"].dictionary_encode()
            sums = np.zeros((len(documents.dictionary), classes), dtype=np.int64)
            np.add.at(sums, documents.indices.to_numpy(), self._model.likelihood(batch["word"]))
            columns = [
                documents.dictionary.take(pa.array(np.repeat(np.arange(len(sums)), classes))),
                pa.array(np.tile(np.arange(classes, dtype=np.int32), len(sums))),
                pc.cast(pa.array(sums.ravel()), pa.int64()),
            ]
            yield pa.RecordBatch.from_arrays(columns, names=["document", "class", "units"])
