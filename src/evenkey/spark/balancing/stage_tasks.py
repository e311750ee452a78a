"""Read rows and seconds of the tasks of a finished stage from Spark's status store.

Only the driver of a classic session has this store.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evenkey.spark.sessions.access import is_remote
from evenkey.spark.sessions.query_events import wait_for_events

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray
    from pyspark.sql import SparkSession

_MS = 1000
_SUCCESS = "SUCCESS"


class StageTasks(NamedTuple):
    """The tasks of a stage.

    Parameters
    ----------
    rows
        float64[W], number of rows that each task read from the shuffle.
    seconds
        Seconds from the start of the first task to the end of the last one.
    """

    rows: NDArray[np.float64]
    seconds: float


def stage_tasks(session: SparkSession, tasks: int, begin: float, end: float) -> StageTasks | None:
    """Return the tasks of the newest stage with a number of tasks that read a shuffle.

    Parameters
    ----------
    session
        The session whose Spark ran the stage.
    tasks
        Number of tasks of the stage.
    begin, end
        When the stage was submitted: not before and not after, in seconds since 1970.

    Returns
    -------
    StageTasks or None
        None: there is no such stage, Spark has forgotten it or was stopped, or the session is one
        of Connect.
    """
    if is_remote(session) or session.sparkContext._jsc is None:  # noqa: SLF001 - no public name
        return None
    from py4j.protocol import Py4JError  # a Connect client may have no Py4J

    try:
        with contextlib.suppress(Py4JError):  # Spark is busy, or has ended
            wait_for_events()
        store = session.sparkContext._jsc.sc().statusStore()  # noqa: SLF001 - the same
        for stage in _stages(store, begin, end):
            if stage.numTasks() == tasks and stage.shuffleReadRecords() > 0:
                found = _tasks_of(store, stage)
                if found is not None:
                    return found
    except (Py4JError, OSError):
        return None
    return None


def _stages(store: Any, begin: float, end: float) -> Iterator[Any]:
    """Yield the stages that were submitted in a time, the newest first."""
    for job in _each(store.jobsList(None)):
        if _at(job.submissionTime()) < begin:
            return
        for number in sorted(_each(job.stageIds()), reverse=True):
            stage = _stage(store, number)
            if stage is not None and begin <= _at(stage.submissionTime()) <= end:
                yield stage


def _stage(store: Any, number: int) -> Any:
    from py4j.protocol import Py4JJavaError

    try:
        return store.lastStageAttempt(number)
    except Py4JJavaError:  # Spark keeps the newest stages only
        return None


def _tasks_of(store: Any, stage: Any) -> StageTasks | None:
    rows, begins, ends = np.zeros(stage.numTasks()), [], []
    every = store.taskList(stage.stageId(), stage.attemptId(), stage.numTasks() * 2)
    succeeded = [each for each in _each(every) if each.status() == _SUCCESS]
    for task in succeeded:
        metrics = task.taskMetrics()
        if metrics.isDefined() and task.duration().isDefined():
            rows[task.index()] = metrics.get().shuffleReadMetrics().recordsRead()
            begins.append(task.launchTime().getTime())
            ends.append(begins[-1] + task.duration().get())
    if len(begins) < len(rows):
        return None
    return StageTasks(rows, (max(ends) - min(begins)) / _MS)


def _each(sequence: Any) -> Iterator[Any]:
    """Yield the elements of a sequence of Scala."""
    for number in range(sequence.size()):
        yield sequence.apply(number)


def _at(time: Any) -> float:
    """Return an optional time of Java in seconds since 1970, rounded up; 0: it is not known."""
    return float(time.get().getTime() + 1) / _MS if time.isDefined() else 0.0
