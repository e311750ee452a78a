"""What a log or a server says of one application, as far as diagnosis asks."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.reports.diagnosis.spark_plans import Node


@dataclass(frozen=True, slots=True)
class Task:
    """A task that succeeded.

    Parameters
    ----------
    index
        Its place in the stage, 0 to T - 1.
    started, seconds
        When it was launched, in seconds of any clock; how long it took.
    rows, bytes
        What it read of shuffles.
    counted
        Rows by accumulator, where the source has them: which exchange they came from, and what an
        operator gave.
    """

    index: int
    started: float
    seconds: float
    rows: int
    bytes: int
    counted: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Stage:
    """A stage that ran to its end.

    Parameters
    ----------
    number
        Spark's id of it.
    name
        Spark's name of it, with the call site.
    execution
        The SQL execution that it belongs to; None for RDDs.
    tasks
        Those that succeeded, one an index.
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
        Spark's id of it.
    plan
        The newest plan that there is of it, which is the one that ran.
    call_site
        What Spark calls the place in the code, such as ``collect at job.py:12``.
    query
        Id of the streaming query that it is an epoch of; None in a batch.
    records_read
        Rows read of each exchange, by the accumulator that `plan` gives it; only where tasks have
        no accumulators of their own, as over REST.
    """

    number: int
    plan: Node
    call_site: str
    query: str | None = None
    records_read: Mapping[int, int] = field(default_factory=dict)


@dataclass(frozen=True)
class Application:
    """An application.

    Parameters
    ----------
    id, name, version
        Spark's id of it, its own name, and the version of Spark that it ran on.
    slots
        How many tasks could run at a time, S.
    seconds
        From its start to its end, or to the last that is known of it.
    executions, stages
        Those of them that are known.
    cautions
        What the source lacks, a sentence each.
    source
        ``log`` or ``rest``.
    """

    id: str
    name: str
    version: str
    slots: int
    seconds: float
    executions: Mapping[int, Execution]
    stages: tuple[Stage, ...]
    cautions: tuple[str, ...] = ()
    source: str = "log"
