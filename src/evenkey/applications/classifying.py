"""Classify records with a model: whole records, or documents word by word on workers."""

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
    """Add a column with the label that a model predicts for each row, in a batch or a stream.

    Parameters
    ----------
    df
        DataFrame with the input columns of the model, such as ``text``. Their names and types must
        be those of the ``fields`` of the learner that made the model.
    model
        A model, or `Models`: the models of a run that may still be learning. With `Models`, each
        task uses the newest model at its start, so a stream gets better labels as the run learns.
        A task that runs again may use a newer model.
    column
        Name of the new column, a string. It is null if the model predicts no label.

    Raises
    ------
    ConfigurationError
        The column already exists, or `model` is not a model.

    Examples
    --------
    >>> import pyarrow as pa
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
    log-probabilities of its words by document and class. Then the partial sums of all workers are
    added up by document and class. Log-probabilities are integer multiples of ``2**-36``, so the
    sums do not depend on the order, and the labels equal those of the model's method `predict`.

    Parameters
    ----------
    df
        Batch DataFrame with the documents.
    document
        Column that identifies a document. Rows with the same value belong to one document.
    text
        Column with the text, a string.
    model
        The naive Bayes model.
    grouping
        The grouping that sends words to workers, or its spelling, such as ``"pkg(choices=3)"``.
    workers
        Number of workers, at least 1.
    column
        Name of the column with the label.

    Returns
    -------
    DataFrame
        `document` (as a string) and `column`.

    Raises
    ------
    ConfigurationError
        A column is missing, `model` is not a naive Bayes model, or `evenkey.spark.route` raises
        the error.

    Examples
    --------
    >>> import pyarrow as pa
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
    # Each document starts with the priors, so a document without words gets a label too.
    priors = F.array(*(F.lit(int(units)) for units in model.prior))
    known = named.select("document").distinct()
    start = known.select("document", F.posexplode(priors).alias("class", "units"))
    summed = answers.union(start).groupBy("document", "class").agg(F.sum("units").alias("units"))
    # The least of the negated sums is the greatest sum; ties go to the first class.
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
