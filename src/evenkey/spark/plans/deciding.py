"""How what tasks learn inside an epoch becomes the routing table of the next one.

Each task leaves a lesson in the store when it has seen its last message. Table N is a pure function
of table N - 1 and the lessons of epoch N - 1, so it does not matter who makes it, or how often. One
task does: Spark runs a scalar subquery by one task before the stage that uses its value, so the
table lies there before any task of the epoch starts. Nothing is left to the driver: there is no
lag, and it goes on after a restart.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, LongType, StructField, StructType

from evenkey.core.errors import EvenkeyError
from evenkey.core.stores import STATE_REMEDY, unseen
from evenkey.spark.plans.lessons import Lessons
from evenkey.spark.plans.tables import RoutingTable
from evenkey.spark.sessions.open_task import problem_words
from evenkey.spark.sessions.task_id import current_epoch
from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import TypeAlias

    import numpy as np
    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import SharedMark
    from evenkey.groupings import Grouping, Snapshot
    from evenkey.spark.plans.lessons import Lesson
    from evenkey.spark.plans.tables import RoutingTables
    from evenkey.spark.sessions.task_id import TaskId

    Words: TypeAlias = list[int] | NDArray[np.int64]


WORDS = StructType(
    [StructField("words", ArrayType(LongType(), containsNull=False), nullable=False)]
)
"""What the scalar subquery gives."""


WORDS_COLUMN = "__evenkey_words"
"""What they are called where they are a column."""


class Merge(Protocol):
    """Makes the next table of one and the lessons of its epoch, by source; a pure function."""

    def __call__(self, before: RoutingTable, lessons: dict[int, Lesson]) -> RoutingTable:
        """Make it."""


@dataclass(frozen=True)
class OfRouters:
    """Merges what routers learned; a source without a lesson keeps its own state."""

    grouping: Grouping

    def __call__(self, before: RoutingTable, lessons: dict[int, Lesson]) -> RoutingTable:
        """Make the next table."""
        in_order = [lessons[source] for source in sorted(lessons)]
        heard = {source: each.local for source, each in lessons.items() if each.local}
        memory = self.grouping.merge_memories([each.memory for each in in_order])
        return RoutingTable(memory, {**before.local, **heard})


class Tables(Protocol):
    """Knows the routing table of each epoch of each query."""

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the table of a task's epoch, and make it where nobody has; in one task an epoch."""

    def recall(self, task: TaskId) -> RoutingTable:
        """Give the table of a task's epoch, which was decided before the task began."""


@dataclass(frozen=True)
class Learning:
    """The routing tables of queries that learn, and the lessons that they are made of.

    Parameters
    ----------
    tables
        Where they lie, under the id of each query.
    mark
        By which each task makes sure that it sees what the others write.
    merge
        Makes the next table.
    first
        What a query starts from for which no table is there.
    """

    tables: RoutingTables
    mark: SharedMark
    merge: Merge
    first: Snapshot = field(default_factory=dict)

    def decide(self, task: TaskId) -> RoutingTable:
        """Give the table of a task's epoch; where it is not there, make it of the lessons.

        Lessons of several epochs may wait: an epoch of a stream that has no rows may have no tasks.

        Raises
        ------
        RunError
            The state cannot be read or written, or this host does not see it.
        ConfigurationError
            The table before belongs to another grouping or worker count.
        """
        self.mark.check()
        own = self.tables.of_query(task.query)
        names = own.names()
        numbers = [number for number in own.numbers(names) if number <= task.epoch]
        if numbers[-1:] == [task.epoch]:
            made = own.find(task.epoch)
            if made is not None:
                return made
        lessons = Lessons(own.store)
        left = lessons.epochs(names)
        last = numbers[-1] if numbers else 0
        table = (own.find(last) if numbers else None) or self._start(task)
        for epoch, sources in left.items():
            if last <= epoch < task.epoch:
                table = self.merge(table, lessons.read(sources))
        own.put(task.epoch, table)
        own.drop_before(task.epoch, numbers)
        # The last ones stay, should their table be found corrupt.
        old = [each for epoch, each in left.items() if epoch < task.epoch - 1]
        lessons.delete([name for sources in old for name in sources.values()])
        return table

    def _start(self, task: TaskId) -> RoutingTable:
        shared = self.tables.before_query(task.query, task.epoch)
        return shared if shared.memory else RoutingTable(dict(self.first))

    def recall(self, task: TaskId) -> RoutingTable:
        """Read the table of a task's epoch, which was decided before the task began.

        Raises
        ------
        RunError
            It cannot be read, or this host does not see it.
        """
        self.mark.check()
        own = self.tables.of_query(task.query)
        table = own.find(task.epoch)
        if table is None:
            writer = "the task that decided this epoch"
            raise unseen(own.path(task.epoch), writer, STATE_REMEDY)
        return table

    def leave(self, task: TaskId, lesson: Lesson) -> None:
        """Leave what a task learned in its epoch.

        Raises
        ------
        RunError
            The state cannot be written.
        """
        Lessons(self.tables.of_query(task.query).store).leave(task.epoch, task.partition, lesson)


class _WordsTask:
    """Gives the words of the epoch's table, or of what is wrong, in place of the one row."""

    def __init__(self, tables: Tables, words_of: Callable[[RoutingTable], Words]) -> None:
        self._tables = tables
        self._words_of = words_of

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for _ in batches:
            words: Words
            try:
                words = self._words_of(self._tables.decide(current_epoch()))
            except EvenkeyError as error:
                words = problem_words(str(error))
            cell = pa.array([words], pa.list_(pa.int64()))
            yield pa.RecordBatch.from_arrays([cell], names=["words"])


def with_decided(
    df: DataFrame,
    tables: Tables,
    words_of: Callable[[RoutingTable], Words],
    *,
    beneath_state: bool = False,
) -> tuple[DataFrame, Column]:
    """Let the rows of a stream wait until their epoch's table is decided.

    Spark computes a scalar subquery once an epoch, by one task, before any other task starts. The
    rows' condition is true, or raises what was wrong: of an error of the subquery itself Spark says
    no more than that there was one.

    Parameters
    ----------
    df
        A stream.
    tables
        Decide.
    words_of
        Makes of a table what rows are to see of it: words, of which the first is not negative.
    beneath_state
        Whether Python operators with state follow, which cannot be sent to tasks with a subquery
        beneath them: the words are then broadcast to the rows, in the column `WORDS_COLUMN`.

    Returns
    -------
    tuple
        The rows, and the words as a column, an array that is the same in all rows of an epoch.
    """
    session = df.sparkSession
    task = in_workers(session, _WordsTask(tables, words_of), problems_as_words=True)
    # One array and not a struct of several: to take a field from a struct costs an object a row.
    made = session.range(0, 1, 1, 1).mapInArrow(task, WORDS)
    if beneath_state:
        df = df.crossJoin(F.broadcast(made.withColumnRenamed("words", WORDS_COLUMN)))
    words = F.col(WORDS_COLUMN) if beneath_state else made.scalar()
    # Spark has no lambdas over a subquery's value; of numbers to letters it knows XML's way.
    letters = F.array_join(F.slice(words, 2, F.size(words)).cast("array<string>"), ";&#")
    text = F.xpath_string(F.concat(F.lit("<a>&#"), letters, F.lit(";</a>")), F.lit("a"))
    problem = F.raise_error(text).cast("boolean")
    fine = F.get(words, F.lit(0)) >= 0
    return df.where(F.when(fine, fine).otherwise(problem)), words


def decided(df: DataFrame, tables: Tables, *, beneath_state: bool = False) -> DataFrame:
    """Let the rows of a stream wait until the table is decided that their tasks will read."""
    waiting, _ = with_decided(df, tables, _nothing, beneath_state=beneath_state)
    return waiting.drop(WORDS_COLUMN) if beneath_state else waiting


def _nothing(table: RoutingTable) -> Words:
    del table
    return [0]
