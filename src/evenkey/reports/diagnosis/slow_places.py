"""Find executors and hosts on which the tasks of a stage are slow, whatever their rows."""

from __future__ import annotations

import statistics
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkey.reports.diagnosis.reading.spark_application import Task
    from evenkey.reports.diagnosis.stage_runs import Run

_LEAST_TASKS = 2
_SLOW = 1.5
"""A place is slow if its seconds per row are at least this multiple of those elsewhere."""


class SlowPlace(NamedTuple):
    """An executor or a host on which tasks are slow.

    Parameters
    ----------
    name
        Such as ``executor 3`` or ``host 10.0.0.7``.
    tasks
        Its tasks.
    factor
        Median of its tasks' seconds per row, over that of all other tasks.
    """

    name: str
    tasks: tuple[Task, ...]
    factor: float


def slow_place(runs: Sequence[Run]) -> SlowPlace | None:
    """Return the slowest host or, if no host is slow, the slowest executor; None if none is slow.

    At least two tasks ran on a slow place, and at least two elsewhere.
    """
    for kind in ("host", "executor"):
        found = max(_places(runs, kind), key=lambda each: each.factor, default=None)
        if found is not None and found.factor >= _SLOW:
            return found
    return None


def usual_seconds(runs: Sequence[Run], run: Run) -> list[float]:
    """Return the seconds of a run's tasks if the slow place were as fast as the others."""
    slow = slow_place(runs)
    if slow is None:
        return list(run.seconds)
    there = set(map(id, slow.tasks))
    return [each.seconds / (slow.factor if id(each) in there else 1) for each in run.tasks]


def _places(runs: Sequence[Run], kind: str) -> Iterator[SlowPlace]:
    paces: dict[str, list[tuple[Task, float]]] = {}
    for run in runs:
        for task, rows in zip(run.tasks, run.rows, strict=True):
            if rows and getattr(task, kind):
                paces.setdefault(getattr(task, kind), []).append((task, task.seconds / rows))
    for name, here in paces.items():
        elsewhere = [pace for other in paces if other != name for _, pace in paces[other]]
        if min(len(here), len(elsewhere)) < _LEAST_TASKS or not statistics.median(elsewhere):
            continue
        factor = statistics.median(pace for _, pace in here) / statistics.median(elsewhere)
        yield SlowPlace(f"{kind} {name}", tuple(task for task, _ in here), factor)
