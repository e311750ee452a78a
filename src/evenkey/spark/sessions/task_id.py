"""Which task of which query's epoch this is."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark import TaskContext

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RUN = "spark.jobGroup.id"
"""Spark makes a query's run the group of its jobs."""
_QUERY = "sql.streaming.queryId"
BATCH = "batch"
"""What a task's query is called where there is no streaming query."""


class TaskId(NamedTuple):
    """A task, the same however often it runs.

    Parameters
    ----------
    query
        Id of the streaming query, which a restart keeps; ``"batch"`` in a batch job.
    epoch
        Number of the micro-batch; 0 in a batch job.
    partition
        The partition that the task computes: the source's number, or the worker's.
    """

    query: str
    epoch: int
    partition: int


def current_task() -> TaskId:
    """Tell which task runs this code.

    Raises
    ------
    RunError
        No task does: this is the driver.
    """
    context = TaskContext.get()
    if context is None:
        message = "this runs only in a task of Spark"
        raise RunError(message)
    query = context.getLocalProperty(_QUERY)
    epoch = context.getLocalProperty("streaming.sql.batchId")
    return TaskId(query or BATCH, int(epoch or 0), context.partitionId())


def within_query(session: SparkSession) -> bool:
    """Whether this thread runs a function of a streaming query, whose tasks know their epoch.

    Over Spark Connect no thread of a client does.
    """
    context = getattr(session, "_sc", None)
    return context is not None and context.getLocalProperty(_QUERY) is not None


def current_epoch() -> TaskId:
    """Tell which task of a stream's epoch runs this code.

    Raises
    ------
    RunError
        No task does, or Spark does not say of which epoch it is.
    """
    task = current_task()
    if task.query == BATCH:
        message = (
            "a task of a stream does not know its epoch, without which nothing is learned: Spark "
            "gives it to no task that a function of foreachBatch starts over Spark Connect, or in "
            "a thread of its own; write the stream to a sink, such as parquet or kafka, or call "
            "evenkey inside the function, on its batch"
        )
        raise RunError(message)
    return task


def current_run() -> str:
    """Tell which run of a streaming query this is: a new one each time that the query is started.

    Returns
    -------
    str
        Spark's ``runId``; empty where Spark does not say it.
    """
    context = TaskContext.get()
    return (None if context is None else context.getLocalProperty(_RUN)) or ""
