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
    kind, place
        Such as ``executor`` and ``3``, or ``host`` and ``10.0.0.7``.
    factor
        Median of its tasks' seconds per row, over that of all other tasks.
    """

    kind: str
    place: str
    factor: float

    @property
    def name(self) -> str:
        """Kind and place together."""
        return f"{self.kind} {self.place}"

    def has(self, task: Task) -> bool:
        """Return whether a task ran there."""
        return bool(getattr(task, self.kind) == self.place)


def slow_place(runs: Sequence[Run]) -> SlowPlace | None:
    """Return the slowest host or, if no host is slow, the slowest executor; None if none is slow.

    At least two tasks ran on a slow place, and at least two elsewhere.
    """
    for kind in ("host", "executor"):
        found = max(_places(runs, kind), key=lambda each: each.factor, default=None)
        if found is not None and found.factor >= _SLOW:
            return found
    return None


def usual_seconds(slow: SlowPlace | None, run: Run) -> list[float]:
    """Return the seconds of a run's tasks if the slow place were as fast as the others."""
    if slow is None:
        return list(run.seconds)
    return [
        task.seconds / (slow.factor if rows and slow.has(task) else 1)
        for task, rows in zip(run.tasks, run.rows, strict=True)
    ]


def _places(runs: Sequence[Run], kind: str) -> Iterator[SlowPlace]:
    paces: dict[str, list[float]] = {}
    for run in runs:
        for task, rows in zip(run.tasks, run.rows, strict=True):
            if rows and getattr(task, kind):
                paces.setdefault(getattr(task, kind), []).append(task.seconds / rows)
    for name, here in paces.items():
        elsewhere = [pace for other in paces if other != name for pace in paces[other]]
        if min(len(here), len(elsewhere)) < _LEAST_TASKS or not statistics.median(elsewhere):
            continue
        yield SlowPlace(kind, name, statistics.median(here) / statistics.median(elsewhere))
