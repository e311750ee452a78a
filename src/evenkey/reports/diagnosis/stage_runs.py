"""Find the stages that ran a keyed read or a scan, and the rows and times of their tasks.

A keyed read is an operator that reads rows by key from a shuffle, such as a join. A scan reads
files or tables.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.metrics import makespan
from evenkey.reports.diagnosis.reading.spark_plans import keyed_reads, scans

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkey.reports.diagnosis.reading.spark_application import (
        Application,
        Execution,
        Stage,
        Task,
    )
    from evenkey.reports.diagnosis.reading.spark_plans import Exchange, KeyedRead


class Writing(NamedTuple):
    """What the stages before an exchange wrote to it.

    Parameters
    ----------
    seconds
        Wall time of these stages in seconds.
    tasks
        Number of their tasks.
    size
        Number of bytes of the rows, before compression. None: the source does not have it.
    """

    seconds: float = 0.0
    tasks: int = 0
    size: int | None = None


@dataclass(frozen=True)
class Run:
    """A stage that ran a keyed read or a scan.

    Parameters
    ----------
    stage, execution, read
        Number of the stage, its SQL execution, and the keyed read or scan that it ran.
    tasks
        Tasks of the stage, in order of their index.
    rows
        Number of rows that each task read from the keyed exchanges, or from files.
    sides
        `rows` by exchange, in the order of the exchanges in `read`. None: the source does not
        distinguish exchanges.
    outputs
        Number of output rows of the operator in each task. None: the source does not have them.
    writing
        For each exchange, what the stages before it wrote. Empty if the source does not have it.
    """

    stage: int
    execution: Execution
    read: KeyedRead
    tasks: tuple[Task, ...]
    rows: tuple[int, ...]
    sides: tuple[tuple[int, ...], ...] | None
    outputs: tuple[int, ...] | None
    writing: tuple[Writing, ...] = ()

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
        """Bytes that the tasks read from shuffles; in a scan, from files."""
        if self.read.exchanges:
            return tuple(each.bytes for each in self.tasks)
        return tuple(each.input_bytes for each in self.tasks)

    @property
    def spilled(self) -> int:
        """Number of bytes that all tasks wrote to disk because they did not fit into memory."""
        return sum(each.spilled for each in self.tasks)


def runs_of(application: Application) -> Iterator[Run]:
    """Find the runs of all keyed reads and scans of an application, stage by stage."""
    written = _written(application)
    reads = {number: keyed_reads(each.plan) for number, each in application.executions.items()}
    for stage in application.stages:
        execution = application.executions.get(-1 if stage.execution is None else stage.execution)
        if execution is None:
            continue
        if not any(each.rows for each in stage.tasks):
            yield from _of_scan(stage, execution)
        elif execution.records_read:
            yield from _by_totals(stage, execution, reads[execution.number])
        else:
            yield from _by_accumulators(stage, execution, reads[execution.number], written)


def _written(application: Application) -> dict[int, Writing]:
    """Return, for each accumulator, its sum and the stages that added to it."""
    written: dict[int, Writing] = {}
    for stage in application.stages:
        took = makespan([each.seconds for each in stage.tasks], application.slots)
        sums: Counter[int] = Counter()
        for task in stage.tasks:
            sums.update(task.counted)
        for number, total in sums.items():
            before = written.get(number, Writing(size=0))
            size = (before.size or 0) + total
            written[number] = Writing(before.seconds + took, before.tasks + len(stage.tasks), size)
    return written


def _of_scan(stage: Stage, execution: Execution) -> Iterator[Run]:
    """Yield the scan of a stage that reads files and no shuffle."""
    if not any(each.input_bytes for each in stage.tasks):
        return
    known = scans(execution.plan)
    present = {number for task in stage.tasks for number in task.counted}
    fitting = [each for each in known if each.output in present] or known[:1]
    if fitting:
        rows = tuple(each.input_rows for each in stage.tasks)
        yield Run(stage.number, execution, fitting[0], stage.tasks, rows, None, None)


def _by_accumulators(
    stage: Stage, execution: Execution, reads: Sequence[KeyedRead], written: Mapping[int, Writing]
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
        writing = {each.counter: _writing(each, written) for each in read.exchanges}
        given = outputs if counted else None
        yield Run(stage.number, execution, read, tasks, rows, sides, given, tuple(writing.values()))


def _writing(exchange: Exchange, written: Mapping[int, Writing]) -> Writing:
    rows, size = (
        written.get(-1 if number is None else number, Writing())
        for number in (exchange.written, exchange.size)
    )
    return rows._replace(size=size.size)


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
