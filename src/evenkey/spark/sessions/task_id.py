"""Identify the running task: its query, its epoch and its partition."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from pyspark import TaskContext

from evenkey.core.errors import RunError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_RUN = "spark.jobGroup.id"
"""Spark uses the run id of a streaming query as the job group of its jobs."""
_QUERY = "sql.streaming.queryId"
BATCH = "batch"
"""Query id of a task that belongs to no streaming query."""


class TaskId(NamedTuple):
    """Identity of a task, which is the same each time that the task runs.

    Parameters
    ----------
    query
        Id of the streaming query, which stays the same after a restart; ``"batch"`` in a batch job.
    epoch
        Number of the micro-batch; 0 in a batch job.
    partition
        Partition that the task computes: the number of the source, or of the worker.
    """

    query: str
    epoch: int
    partition: int


def current_task() -> TaskId:
    """Return the task that runs this code.

    Raises
    ------
    RunError
        No task runs this code: this is the driver.
    """
    context = TaskContext.get()
    if context is None:
        message = (
            "current_task() was called outside a Spark task: call it in a function that Spark runs"
        )
        raise RunError(message)
    query = context.getLocalProperty(_QUERY)
    epoch = context.getLocalProperty("streaming.sql.batchId")
    return TaskId(query or BATCH, int(epoch or 0), context.partitionId())


def within_query(session: SparkSession) -> bool:
    """Return whether this thread runs a function of a streaming query, as in ``foreachBatch``.

    If so, tasks that this thread starts know their epoch. In a client of Spark Connect, the result
    is always False.
    """
    context = getattr(session, "_sc", None)
    return context is not None and context.getLocalProperty(_QUERY) is not None


def current_epoch() -> TaskId:
    """Return the task of a stream that runs this code, with its epoch.

    Raises
    ------
    RunError
        No task runs this code, or Spark does not tell the task its epoch.
    """
    task = current_task()
    if task.query == BATCH:
        message = (
            "a task of a stream does not know its epoch, which evenkey needs: Spark does "
            "not pass the epoch to tasks that a foreachBatch function starts over Spark Connect or "
            "in a new thread; write the stream to a sink, such as parquet or kafka, or call "
            "evenkey inside the function, on its batch"
        )
        raise RunError(message)
    return task


def current_run() -> str:
    """Return the id of the query's current run; each start of a query is a new run.

    Returns
    -------
    str
        Spark's ``runId``; empty if Spark does not pass the id to the task.
    """
    context = TaskContext.get()
    return (None if context is None else context.getLocalProperty(_RUN)) or ""
