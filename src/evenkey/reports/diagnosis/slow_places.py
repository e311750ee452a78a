"""Find executors and hosts on which the tasks of a stage are slow, whatever their rows."""

from __future__ import annotations

import statistics
from bisect import bisect_right
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
    named = sorted(
        (task.seconds / rows, getattr(task, kind))
        for run in runs
        for task, rows in zip(run.tasks, run.rows, strict=True)
        if rows and getattr(task, kind)
    )
    paces = [pace for pace, _ in named]
    ranks: dict[str, list[int]] = {}  # indices into `paces`, by place
    for rank, (_, name) in enumerate(named):
        ranks.setdefault(name, []).append(rank)
    for name, here in ranks.items():
        if min(len(here), len(paces) - len(here)) < _LEAST_TASKS:
            continue
        elsewhere = _median_without(paces, here)
        if elsewhere:
            median = statistics.median(paces[rank] for rank in here)
            yield SlowPlace(kind, name, median / elsewhere)


def _median_without(values: Sequence[float], left_out: Sequence[int]) -> float:
    """Return the median of sorted values without those at some indices, which are sorted too.

    Examples
    --------
    >>> _median_without([1.0, 2.0, 5.0, 6.0, 9.0], [1])
    5.5
    """
    count = len(values) - len(left_out)

    def at(place: int) -> float:
        # Before the k-th index that is left out, that index less k values are kept.
        before = bisect_right(
            range(len(left_out)), place, key=lambda number: left_out[number] - number
        )
        return values[place + before]

    return (at((count - 1) // 2) + at(count // 2)) / 2
