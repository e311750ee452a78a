"""Predict how long a call takes with Spark's own placement and by a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.metrics import makespan

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenkey.core.profiles import TaskFigures
    from evenkey.spark.balancing.planned_calls import PlannedCall

_DRAWS = 20


class ExpectedGain(NamedTuple):
    """Predicted times of a call, of the size that was recorded.

    Parameters
    ----------
    spark, planned
        Makespan with Spark's own placement, and by the plan: in seconds if the profile has task
        times, else in units of work.
    rows
        Rows for which the seconds hold, copies included; 0: they are no seconds.
    """

    spark: float
    planned: float
    rows: float

    @property
    def factor(self) -> float:
        """The predicted speedup."""
        return self.spark / self.planned if self.planned else 1.0

    def seconds(self, rows: float) -> tuple[float, float] | None:
        """Return the makespans in seconds for a number of rows; None: they are not known."""
        if not self.rows:
            return None
        scale = rows / self.rows
        return self.spark * scale, self.planned * scale


def expected_gain(
    planned: PlannedCall, tasks: TaskFigures | None, partitions: int, slots: int
) -> ExpectedGain:
    """Predict the gain of a plan.

    Parameters
    ----------
    planned
        The plan of the call.
    tasks
        Tasks of the newest run in an event log. Their seconds are those of Spark's own placement,
        and by the plan they are divided as its work. None: each hot key is in one of Spark's
        partitions, drawn at random, and time is proportional to work.
    partitions
        Number of Spark's partitions.
    slots
        Number of tasks that run at the same time.
    """
    if tasks is not None and any(tasks.rows) and any(tasks.seconds):
        seconds = planned.work * (sum(tasks.seconds) / planned.work.sum())
        rows = sum(tasks.rows) * planned.copies
        by_plan = makespan(seconds.tolist(), slots)
        return ExpectedGain(makespan(tasks.seconds, slots), by_plan, rows)
    spans = [makespan(loads.tolist(), slots) for loads in _drawn(planned, partitions)]
    return ExpectedGain(float(np.mean(spans)), makespan(planned.work.tolist(), slots), 0.0)


def _drawn(planned: PlannedCall, partitions: int) -> Iterator[NDArray[np.float64]]:
    """Yield the work of Spark's partitions, with hot keys in partitions drawn at random."""
    random = np.random.default_rng(0)
    for _ in range(_DRAWS):
        places = random.integers(partitions, size=len(planned.hot))
        hot = np.bincount(places, planned.hot, minlength=partitions).astype(np.float64)
        yield hot + planned.others / partitions
