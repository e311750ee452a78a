"""Read jobs and their tasks from an event log, and schedule the tasks on other slots."""

from __future__ import annotations

import heapq
import math
from collections import deque
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.reports.diagnosis.reading.logs import find_logs

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

__all__ = [
    "Logged",
    "LoggedJob",
    "LoggedTask",
    "idle_seconds",
    "largest_task",
    "read_logged",
    "scheduled_seconds",
]

JOB_START, JOB_END = "SparkListenerJobStart", "SparkListenerJobEnd"
TASK_END, LOST = "SparkListenerTaskEnd", "SparkListenerExecutorRemoved"
PYTHON, JAVA = "ProcessTreePythonRSSMemory", "ProcessTreeJVMRSSMemory"


class LoggedTask(NamedTuple):
    """A run of a task.

    Parameters
    ----------
    stage
        Spark's id of the stage.
    started, ended
        Launch and end, in seconds since 1970.
    succeeded
        Whether it ended without an error. Figures of a task that failed may be 0.
    rows
        Number of rows that it read from shuffles.
    spilled_memory, spilled_disk
        Bytes of the rows that it spilled, in memory and on disk.
    execution_memory
        Spark's peak execution memory of the task, in bytes.
    heap, java, python
        Largest heap, and resident memory of the Java process and of its Python processes, in bytes,
        while the task ran. They belong to the executor, with all of its tasks. 0: unknown.
    """

    stage: int
    started: float
    ended: float
    succeeded: bool = True
    rows: int = 0
    spilled_memory: int = 0
    spilled_disk: int = 0
    execution_memory: int = 0
    heap: int = 0
    java: int = 0
    python: int = 0


class LoggedJob(NamedTuple):
    """A job: when it ran, in seconds since 1970, and the stages that each of its stages reads."""

    started: float
    ended: float
    parents: dict[int, tuple[int, ...]]


class Logged(NamedTuple):
    """The jobs and tasks of an application, and the number of executors that it lost."""

    jobs: tuple[LoggedJob, ...]
    tasks: tuple[LoggedTask, ...]
    lost: int = 0

    def between(self, start: float, end: float) -> Logged:
        """Return the jobs and tasks that began in an interval, in seconds since 1970."""
        return Logged(
            tuple(each for each in self.jobs if start <= each.started <= end),
            tuple(each for each in self.tasks if start <= each.started <= end),
        )


def read_logged(directory: Path) -> Logged:
    """Read the only event log of a directory, also that of an application that was killed."""
    (log,) = find_logs(directory).logs
    jobs: dict[int, LoggedJob] = {}
    tasks = []
    lost = 0
    for event in log.events({JOB_START, JOB_END, TASK_END, LOST}):
        if event["Event"] == JOB_START:
            parents = {each["Stage ID"]: tuple(each["Parent IDs"]) for each in event["Stage Infos"]}
            jobs[event["Job ID"]] = LoggedJob(event["Submission Time"] / 1000, math.inf, parents)
        elif event["Event"] == JOB_END:
            job = jobs[event["Job ID"]]
            jobs[event["Job ID"]] = job._replace(ended=event["Completion Time"] / 1000)
        elif event["Event"] == TASK_END:
            tasks.append(_task(event))
        else:
            lost += 1
    return Logged(tuple(jobs.values()), tuple(sorted(tasks, key=lambda each: each.started)), lost)


def _task(event: dict[str, Any]) -> LoggedTask:
    info, metrics = event["Task Info"], event.get("Task Metrics") or {}
    executor = event.get("Task Executor Metrics") or {}
    return LoggedTask(
        event["Stage ID"],
        info["Launch Time"] / 1000,
        info["Finish Time"] / 1000,
        event["Task End Reason"]["Reason"] == "Success",
        metrics.get("Shuffle Read Metrics", {}).get("Total Records Read", 0),
        metrics.get("Memory Bytes Spilled", 0),
        metrics.get("Disk Bytes Spilled", 0),
        metrics.get("Peak Execution Memory", 0),
        executor.get("JVMHeapMemory", 0),
        executor.get(JAVA, 0),
        executor.get(PYTHON, 0),
    )


def largest_task(logged: Logged) -> tuple[LoggedTask, int]:
    """Return the task with most rows from a shuffle, and the rows that all tasks of its stage read.

    Of all stages, that one counts whose tasks read most rows.
    """
    rows: dict[int, int] = {}
    for each in logged.tasks:
        rows[each.stage] = rows.get(each.stage, 0) + each.rows * each.succeeded
    stage = max(rows, key=lambda each: rows[each])
    ended = [each for each in logged.tasks if each.stage == stage and each.succeeded]
    largest = max(ended, key=lambda each: each.rows)
    return largest, rows[stage]


def idle_seconds(logged: Logged, start: float, end: float) -> float:
    """Return for how many seconds of an interval no task ran; the driver plans or collects then."""
    idle, reached = 0.0, start
    for each in logged.tasks:
        idle += max(0.0, each.started - reached)
        reached = max(reached, each.ended)
    return idle + max(0.0, end - reached)


def scheduled_seconds(logged: Logged, slots: int) -> float:
    """Return how long the tasks that succeeded would take on a number of slots.

    A free slot takes the next task that can start, in the order of the log. The tasks of a stage
    can start when the stages that it reads have ended, and all jobs that had ended before Spark
    started the job of the stage. So jobs that ran one after the other do so here, and jobs that ran
    concurrently can do so. The time between tasks, in which the driver works, is left out.

    Examples
    --------
    Two stages of 4 and 1 tasks of a second, then a job with a task of 2 seconds:

    >>> tasks = [LoggedTask(0, 0.0, 1.0)] * 4 + [LoggedTask(1, 2.0, 3.0), LoggedTask(2, 5.0, 7.0)]
    >>> jobs = (LoggedJob(0.0, 4.0, {0: (), 1: (0,)}), LoggedJob(5.0, 8.0, {2: ()}))
    >>> [scheduled_seconds(Logged(jobs, tuple(tasks)), slots) for slots in (1, 2, 16)]
    [7.0, 5.0, 4.0]
    """
    seconds: dict[int, list[float]] = {}
    for each in logged.tasks:
        if each.succeeded:
            seconds.setdefault(each.stage, []).append(each.ended - each.started)
    needed = _needed(logged, seconds)
    closed = list(seconds)
    left = {stage: len(tasks) for stage, tasks in seconds.items()}
    ended: set[int] = set()
    ready: deque[tuple[int, float]] = deque()
    running: list[tuple[float, int]] = []
    clock = 0.0
    while closed or ready or running:
        opened = [stage for stage in closed if needed[stage] <= ended]
        closed = [stage for stage in closed if stage not in opened]
        ready.extend((stage, each) for stage in opened for each in seconds[stage])
        while ready and len(running) < slots:
            stage, each_seconds = ready.popleft()
            heapq.heappush(running, (clock + each_seconds, stage))
        clock, stage = heapq.heappop(running)
        left[stage] -= 1
        if not left[stage]:
            ended.add(stage)
    return clock


def _needed(logged: Logged, stages: Iterable[int]) -> dict[int, set[int]]:
    """Return for each stage those that have to end before it starts."""
    started: dict[int, float] = {}
    for each in logged.tasks:
        started.setdefault(each.stage, each.started)
    # A stage may be listed by several jobs: the last one that began before its tasks ran it.
    job_of = {
        stage: max(
            (job for job in logged.jobs if stage in job.parents and job.started <= started[stage]),
            key=lambda job: job.started,
        )
        for stage in stages
    }
    return {
        stage: {
            other
            for other, job in job_of.items()
            if job.ended <= job_of[stage].started
            or other in _ancestors(stage, job_of[stage].parents)
        }
        for stage in stages
    }


def _ancestors(stage: int, parents: dict[int, tuple[int, ...]]) -> set[int]:
    direct: Sequence[int] = parents.get(stage, ())
    return {*direct}.union(*(_ancestors(each, parents) for each in direct))
