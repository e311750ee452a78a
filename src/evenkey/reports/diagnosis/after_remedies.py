"""Predict how long a stage takes with a remedy, from the rows of its tasks."""

from __future__ import annotations

import functools
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.core.metrics import makespan
from evenkey.reports.diagnosis.saved_time import Played, saved_time
from evenkey.reports.diagnosis.slow_places import slow_place
from evenkey.reports.diagnosis.task_times import Line, explained, fit_line, fullness, skew_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.diagnosis.remedies import Remedy
    from evenkey.reports.diagnosis.slow_places import SlowPlace
    from evenkey.reports.diagnosis.stage_runs import Run


@dataclass(frozen=True)
class Work:
    """Measurements of all runs of one stage.

    Parameters
    ----------
    runs
        The runs, in order.
    slots
        Number of tasks that could run at the same time, S.
    line
        The seconds of a task as a linear function of its rows.
    by_output
        Whether `line` is a function of the task's output rows, as in some joins. False: of its
        input rows.
    """

    runs: Sequence[Run]
    slots: int
    line: Line
    by_output: bool

    @classmethod
    def of(cls, runs: Sequence[Run], slots: int) -> Work:
        """Fit the line to the tasks of all runs, by input rows or output rows: what fits better."""
        seconds = [each for run in runs for each in run.seconds]
        rows = [each for run in runs for each in run.rows]
        taken = fit_line(rows, seconds)
        if any(run.outputs is None or len(run.read.exchanges) == 1 for run in runs):
            return cls(runs, slots, taken, by_output=False)
        outputs = [each for run in runs for each in run.outputs or ()]
        given = fit_line(outputs, seconds)
        better = explained(given, outputs, seconds) > explained(taken, rows, seconds)
        return cls(runs, slots, given if better else taken, by_output=better)

    @property
    def seconds(self) -> float:
        """Wall time of the runs in seconds, if their tasks are scheduled on the slots."""
        return sum(makespan(run.seconds_as_begun, self.slots) for run in self.runs)

    @property
    def skew_cost(self) -> float:
        """Wall time in seconds that is lost because some tasks take longer, whatever the cause."""
        return sum(skew_cost(run.seconds_as_begun, self.slots) for run in self.runs)

    @property
    def worst(self) -> Run:
        """The run whose largest task exceeds the mean by the most rows."""
        return max(self.runs, key=lambda run: max(run.rows) - statistics.fmean(run.rows))

    @functools.cached_property
    def slow_place(self) -> SlowPlace | None:
        """The host or executor on which tasks are slow; None: there is none."""
        return slow_place(self.runs)

    @property
    def explained(self) -> float:
        """Share of the variance of the tasks' seconds that `line` explains, from 0 to 1."""
        seconds = [each for run in self.runs for each in run.seconds]
        return explained(
            self.line, [each for run in self.runs for each in self.drivers(run)], seconds
        )

    def drivers(self, run: Run) -> Sequence[int]:
        """Return the rows of a run's tasks by which `line` gives their seconds."""
        return run.outputs if self.by_output and run.outputs is not None else run.rows

    def predicted(self, remedy: Remedy) -> float:
        """Return the wall time that the runs would have with a remedy, in seconds.

        A remedy saves only time that depends on rows. The saved time is the makespan of the tasks
        as they are, less the makespan of the tasks with the remedy. In both, `line` gives the
        seconds of a task from its rows. Other time, such as that of a slow host, stays. The wall
        time is at least the tasks' seconds divided by the slots. The time to count keys is added
        (see `counting`).
        """
        saved = sum(saved_time(self._played(run), remedy) for run in self.runs)
        return self.seconds - saved + self.counting(remedy)

    def _played(self, run: Run) -> Played:
        return Played(run, self.slow_place, self.line, self.drivers(run), self.slots)

    def counting(self, remedy: Remedy) -> float:
        """Return the wall time to read a remedy's input once more and count its keys, in seconds.

        This is a lower bound. It is the time of the stages that wrote the input, but stages before
        them may have to run again too.
        """
        read = (each for run in self.runs for each in run.writing[: remedy.counted])
        return remedy.readings * sum(each.seconds for each in read)


def together(runs: Sequence[Run], what: str) -> float:
    """Return the measure of the largest task over the mean of all tasks.

    For several runs, return the sum of the largest tasks over the sum of the means.

    Parameters
    ----------
    runs
        The runs.
    what
        Measure of a task: ``rows``, ``bytes`` or ``seconds``.
    """
    series = [getattr(run, what) for run in runs]
    if len(series) == 1:
        return fullness(series[0])
    means = sum(statistics.fmean(each) for each in series)
    return sum(map(max, series)) / means if means else 1.0
