"""The wall time that a remedy saves in one run of a stage, from the rows and times of its tasks."""

from __future__ import annotations

import math
import statistics
from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.metrics import makespan
from evenkey.reports.diagnosis.slow_places import usual_seconds
from evenkey.reports.diagnosis.task_times import Line, hottest_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkey.reports.diagnosis.remedies import Remedy
    from evenkey.reports.diagnosis.slow_places import SlowPlace
    from evenkey.reports.diagnosis.stage_runs import Run

SMALLER = 4
"""How many times more partitions than slots a remedy asks for, if keys stay whole."""


class Played(NamedTuple):
    """What the times of a run follow from.

    Parameters
    ----------
    run
        The run.
    slow
        The place where the tasks of all runs of the stage are slow; None: there is none.
    line
        The seconds of a task as a linear function of its rows.
    drivers
        The rows of each task by which `line` gives its seconds.
    slots
        Number of tasks that can run at the same time.
    """

    run: Run
    slow: SlowPlace | None
    line: Line
    drivers: Sequence[int]
    slots: int


def saved_time(played: Played, remedy: Remedy) -> float:
    """Return the wall time that a remedy saves in a run, in seconds, without counting keys.

    A remedy that moves rows leaves the work of all tasks together as it is, which takes at least
    its share of the slots. So no more is saved than the wall time above this share, whatever the
    line says.
    """
    run, slots, order = played.run, played.slots, played.run.order_begun
    took = makespan(run.seconds_as_begun, slots)
    if remedy.how in _BY_PLACE:
        after = _BY_PLACE[remedy.how](played)
        return took - makespan([after[i] for i in order], slots)
    line, drivers = _line(played, remedy), played.drivers
    now = makespan([line.at(drivers[each]) for each in order], slots)
    most = took - _work(remedy, run, drivers) / slots
    return min(most, now - _after(remedy, line, run, drivers, slots))


def _work(remedy: Remedy, run: Run, drivers: Sequence[int]) -> float:
    """Return the seconds of all tasks together; of the rows that stay, if a remedy drops some."""
    total = sum(drivers)
    dropped = hottest_rows(drivers) / total if remedy.how == "drop" and total else 0.0
    return sum(run.seconds) * (1 - dropped)


def _line(played: Played, remedy: Remedy) -> Line:
    """Return the seconds of a task by its rows; with few tasks, they are proportional to rows."""
    rows, few = sum(played.drivers), len(played.run.tasks) < played.slots
    if remedy.how == "partitions" and few and rows:
        return Line(0.0, sum(played.run.seconds) / rows)
    return played.line


def _after(remedy: Remedy, line: Line, run: Run, drivers: Sequence[int], slots: int) -> float:
    total, hottest = sum(drivers), hottest_rows(drivers)
    # With the remedy there are as many tasks as now, but at least one per slot; each task has the
    # fixed time of the line. A repartition asks for one task per slot.
    tasks = slots if remedy.how == "repartition" else max(len(run.tasks), slots)
    if remedy.how == "adaptive":
        return _in_pieces(remedy, line, run, drivers, slots)
    if remedy.how == "drop":
        total -= round(hottest)
    if remedy.how == "partitions":
        waves = math.ceil(max(tasks, SMALLER * slots) / slots)
        balanced = waves * line.fixed + line.slope * total / slots
    else:
        balanced = math.ceil(tasks / slots) * line.at(total / tasks)
    if remedy.how in ("whole", "partitions"):
        return max(balanced, min(line.at(max(drivers)), line.at(hottest)))
    return balanced


def _in_pieces(remedy: Remedy, line: Line, run: Run, drivers: Sequence[int], slots: int) -> float:
    """Return the wall time if adaptive execution splits the large partitions of a join.

    It splits a partition at the outputs of the tasks before the shuffle, so there are at most as
    many pieces as such tasks.
    """
    usual = statistics.median(run.bytes)
    most = max((each.tasks for each in run.writing), default=0)
    seconds = []
    for place in run.order_begun:
        large = run.bytes[place] > max(2 * usual, remedy.piece_bytes)
        wanted = math.ceil(run.bytes[place] / max(1, remedy.piece_bytes)) if large else 1
        pieces = max(1, min(wanted, most or wanted))
        seconds += [line.at(drivers[place] / pieces)] * pieces
    return makespan(seconds, slots)


def _without_spilling(played: Played) -> Sequence[float]:
    """Return the seconds of the tasks if all had the pace of the task that spills least."""
    run = played.run
    least = min(run.tasks, key=lambda each: each.spilled)
    rows = run.rows[run.tasks.index(least)]
    pace = least.seconds / rows if rows else math.inf
    return [min(took, pace * count) for took, count in zip(run.seconds, run.rows, strict=True)]


_BY_PLACE: dict[str, Callable[[Played], Sequence[float]]] = {
    "replace": lambda played: usual_seconds(played.slow, played.run),
    "memory": _without_spilling,
}
"""Remedies that change the seconds of tasks, not their rows."""
