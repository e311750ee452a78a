"""A Spark application as a log or a server describes it; only what the diagnosis needs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.reports.diagnosis.reading.spark_plans import Node


@dataclass(frozen=True, slots=True)
class Task:
    """A task that succeeded.

    Parameters
    ----------
    index
        Index of the task in the stage, 0 to T - 1.
    started, seconds
        Launch time in seconds, by any clock (it only serves to order tasks), and duration in
        seconds.
    rows, bytes
        Numbers of rows and bytes that the task read from shuffles.
    counted
        Counts by accumulator id: rows read from each exchange, output rows of operators, and
        bytes written to each exchange. Empty if the source does not have these numbers.
    input_rows, input_bytes
        Numbers of rows and bytes that the task read from files and tables.
    spilled
        Number of bytes that the task wrote to disk because they did not fit into memory.
    executor, host
        Where the task ran; empty if unknown.
    """

    index: int
    started: float
    seconds: float
    rows: int
    bytes: int
    counted: Mapping[int, int] = field(default_factory=dict)
    input_rows: int = 0
    input_bytes: int = 0
    spilled: int = 0
    executor: str = ""
    host: str = ""


@dataclass(frozen=True)
class Stage:
    """A stage that ran to its end.

    Parameters
    ----------
    number
        Spark's id of the stage.
    name
        Spark's name of the stage, with the call site.
    execution
        Id of the SQL execution that the stage belongs to. None: the stage belongs to RDDs.
    tasks
        The tasks that succeeded, one per index.
    """

    number: int
    name: str
    execution: int | None
    tasks: tuple[Task, ...]


@dataclass(frozen=True)
class Execution:
    """A query, or one epoch of a streaming query.

    Parameters
    ----------
    number
        Spark's id of the SQL execution.
    plan
        The last plan that Spark recorded, which is the plan that ran.
    call_site
        Line of code that began the query, such as ``collect at job.py:12``; empty if unknown.
    query
        Id of the streaming query, if this is an epoch of a stream. None: this is a batch.
    records_read
        Number of rows read from each exchange, by the exchange's accumulator id in `plan`. Only
        filled for a source whose tasks have no accumulators, such as the REST API.
    settings
        Spark's settings of the query, as far as they were set: those in `spark_settings.KNOWN`.
    """

    number: int
    plan: Node
    call_site: str
    query: str | None = None
    records_read: Mapping[int, int] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Application:
    """A Spark application.

    Parameters
    ----------
    id, name, version
        Spark's id of the application, its name, and the version of Spark.
    slots
        Number of tasks that could run at the same time, S.
    started, seconds
        When the application started, in seconds since 1970, and the time from then to its end, or
        to the last known event.
    executions, stages
        The SQL executions by number, and the stages, as far as they are known.
    cautions
        One sentence for everything that the source lacks.
    source
        Kind of the source: ``log`` or ``rest``.
    """

    id: str
    name: str
    version: str
    slots: int
    started: float
    seconds: float
    executions: Mapping[int, Execution]
    stages: tuple[Stage, ...]
    cautions: tuple[str, ...] = ()
    source: str = "log"
