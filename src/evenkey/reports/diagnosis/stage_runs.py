"""Find the stages that ran a keyed read, and the rows and times of their tasks.

A keyed read is an operator that reads rows by key from a shuffle, such as a join.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.core.metrics import makespan
from evenkey.reports.diagnosis.spark_plans import keyed_reads

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkey.reports.diagnosis.spark_application import Application, Execution, Stage, Task
    from evenkey.reports.diagnosis.spark_plans import KeyedRead


@dataclass(frozen=True)
class Run:
    """A stage that ran a keyed read: an operator that reads rows by key from a shuffle.

    Parameters
    ----------
    stage, execution, read
        Number of the stage, its SQL execution, and the keyed read that it ran.
    tasks
        Tasks of the stage, in order of their index.
    rows
        Number of rows that each task read from the keyed exchanges.
    sides
        `rows` by exchange, in the order of the exchanges in `read`. None: the source does not
        distinguish exchanges.
    outputs
        Number of output rows of the operator in each task. None: the source does not have them.
    writing
        For each exchange, the seconds of the stages that wrote its rows. Empty if the source does
        not have them.
    """

    stage: int
    execution: Execution
    read: KeyedRead
    tasks: tuple[Task, ...]
    rows: tuple[int, ...]
    sides: tuple[tuple[int, ...], ...] | None
    outputs: tuple[int, ...] | None
    writing: tuple[float, ...] = ()

    @property
    def seconds(self) -> tuple[float, ...]:
        """Seconds of each task, in order of their index."""
        return tuple(each.seconds for each in self.tasks)

    @property
    def order_begun(self) -> list[int]:
        """Indices into `tasks`, in the order in which the tasks began."""
        return sorted(range(len(self.tasks)), key=lambda place: self.tasks[place].started)

    @property
    def seconds_as_begun(self) -> list[float]:
        """Seconds of the tasks, in the order in which they began."""
        return [self.tasks[place].seconds for place in self.order_begun]

    @property
    def bytes(self) -> tuple[int, ...]:
        """Bytes that the tasks read from shuffles."""
        return tuple(each.bytes for each in self.tasks)


def runs_of(application: Application) -> Iterator[Run]:
    """Find the runs of all keyed reads of an application, stage by stage."""
    written = _written(application)
    reads = {number: keyed_reads(each.plan) for number, each in application.executions.items()}
    for stage in application.stages:
        execution = application.executions.get(-1 if stage.execution is None else stage.execution)
        if execution is not None and any(each.rows for each in stage.tasks):
            if execution.records_read:
                yield from _by_totals(stage, execution, reads[execution.number])
            else:
                yield from _by_accumulators(stage, execution, reads[execution.number], written)


def _written(application: Application) -> dict[int, float]:
    """Return the total makespan, in seconds, of the stages that added to each accumulator."""
    seconds: dict[int, float] = {}
    for stage in application.stages:
        took = makespan([each.seconds for each in stage.tasks], application.slots)
        for number in {number for task in stage.tasks for number in task.counted}:
            seconds[number] = seconds.get(number, 0.0) + took
    return seconds


def _by_accumulators(
    stage: Stage, execution: Execution, reads: Sequence[KeyedRead], written: Mapping[int, float]
) -> Iterator[Run]:
    """Yield the keyed reads of a stage; the accumulators of its tasks show which reads it ran."""
    present = {number for task in stage.tasks for number in task.counted}
    for read in reads:
        counters = [each.counter for each in read.exchanges]
        if not present.intersection(filter(None, counters)):
            continue
        if read.alone:
            tasks = stage.tasks
        else:
            tasks = tuple(each for each in stage.tasks if set(counters) & set(each.counted))
        sides = tuple(
            tuple(0 if each is None else task.counted.get(each, 0) for task in tasks)
            for each in dict.fromkeys(counters)
        )
        rows = tuple(map(sum, zip(*sides, strict=True)))
        counted = read.output is not None and read.output in present
        outputs = tuple(task.counted.get(read.output or 0, 0) for task in tasks)
        writing = {each.counter: written.get(each.written or 0, 0.0) for each in read.exchanges}
        given = outputs if counted else None
        yield Run(stage.number, execution, read, tasks, rows, sides, given, tuple(writing.values()))


def _by_totals(stage: Stage, execution: Execution, reads: Sequence[KeyedRead]) -> Iterator[Run]:
    """Yield the keyed read of a stage if exactly one read has as many rows as the stage read."""
    total = sum(each.rows for each in stage.tasks)
    fitting = [
        each
        for each in reads
        if each.alone
        and total
        == sum(
            execution.records_read.get(number, 0)
            for number in {side.counter for side in each.exchanges if side.counter is not None}
        )
    ]
    if len(fitting) == 1:
        rows = tuple(each.rows for each in stage.tasks)
        sides = (rows,) if len(fitting[0].exchanges) == 1 else None
        yield Run(stage.number, execution, fitting[0], stage.tasks, rows, sides, None)
