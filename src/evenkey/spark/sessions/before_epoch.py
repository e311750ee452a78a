"""Run one task before each epoch of a stream; its result is the same in all rows.

Spark runs a scalar subquery in one task before the stage that uses the subquery's value. So
everything that this task writes exists before any other task of the epoch starts. The driver is not
involved, so this adds no delay, and it works the same after a restart.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from evenkey.core.errors import EvenkeyError
from evenkey.spark.sessions.open_task import problem_words
from evenkey.spark.sessions.task_id import current_epoch
from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from evenkey.spark.sessions.task_id import TaskId

    Words: TypeAlias = list[int] | NDArray[np.int64]


WORDS = StructType(
    [StructField("words", ArrayType(LongType(), containsNull=False), nullable=False)]
)
"""Schema of the scalar subquery."""
WORDS_COLUMN = "__evenkey_words"
"""Name of the column with the value of the subquery."""


@dataclass(frozen=True)
class _WordsTask:
    """Replaces the single input row by the words of the epoch, or by the words of an error."""

    words_of: Callable[[TaskId], Words]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            words: Words
            try:
                words = self.words_of(current_epoch())
            except EvenkeyError as error:
                words = problem_words(str(error))
            cell = pa.array([words], pa.list_(pa.int64()))
            yield pa.RecordBatch.from_arrays([cell], names=["words"])


def with_epoch_words(
    df: DataFrame, words_of: Callable[[TaskId], Words], *, beneath_state: bool = False
) -> tuple[DataFrame, Column]:
    """Make the rows of a stream wait for the result of one task per epoch.

    The task runs in a scalar subquery, whose value Spark computes before it processes the first row
    of the epoch. If the task raises an `EvenkeyError`, a filter on the rows raises an error with
    its message. Spark itself would report only that the subquery failed.

    Parameters
    ----------
    df
        A stream.
    words_of
        Function that the task calls with its `TaskId`, which has the number of the epoch. It
        returns words: int64 numbers, of which the first must not be negative. It is pickled.
    beneath_state
        Whether operators with state follow. Spark cannot send those in Python to tasks if there is
        a subquery beneath them. And if an epoch has only rows of other sources of the query, Spark
        removes a filter and its subquery, but no join. So the words are broadcast to the rows
        instead, as column `WORDS_COLUMN`, and the task runs in each epoch.

    Returns
    -------
    tuple
        The rows, and a column of the words: an array that is equal in all rows of an epoch.
    """
    session = df.sparkSession
    task = in_workers(session, _WordsTask(words_of), problems_as_words=True)
    # Use one array, not a struct of arrays: reading a field of a struct makes an object per row.
    made = session.range(0, 1, 1, 1).mapInArrow(task, WORDS)
    if beneath_state:
        df = df.crossJoin(F.broadcast(made.withColumnRenamed("words", WORDS_COLUMN)))
    words = F.col(WORDS_COLUMN) if beneath_state else made.scalar()
    # Spark allows no lambda over the value of a subquery, so the character codes of the message are
    # decoded as XML character references.
    characters = F.array_join(F.slice(words, 2, F.size(words)).cast("array<string>"), ";&#")
    text = F.xpath_string(F.concat(F.lit("<a>&#"), characters, F.lit(";</a>")), F.lit("a"))
    problem = F.raise_error(text).cast("boolean")
    fine = F.get(words, F.lit(0)) >= 0
    return df.where(F.when(fine, fine).otherwise(problem)), words


@dataclass(frozen=True)
class _Done:
    """Calls a function and ignores its result."""

    work: Callable[[TaskId], object]

    def __call__(self, task: TaskId) -> Words:
        self.work(task)
        return [0]


def before_epoch(
    df: DataFrame, work: Callable[[TaskId], object], *, beneath_state: bool = False
) -> DataFrame:
    """Make the rows of a stream wait until one task has done the work of their epoch.

    Parameters
    ----------
    df, beneath_state
        As for `with_epoch_words`.
    work
        Function that is called with the id of the task. If it raises an `EvenkeyError`, the query
        fails. The function is pickled.
    """
    waiting, _ = with_epoch_words(df, _Done(work), beneath_state=beneath_state)
    return waiting.drop(WORDS_COLUMN) if beneath_state else waiting
