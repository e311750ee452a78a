"""Predicted seconds of a stage's runs with a remedy, from the rows of its tasks."""

from __future__ import annotations

import math
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.core.metrics import makespan
from evenkey.reports.diagnosis.task_times import Line, fit_line, fullness, skew_cost

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.diagnosis.remedies import Remedy
    from evenkey.reports.diagnosis.stage_runs import Run

_FEW_TASKS = 3
"""Number of tasks below which the other tasks' rows say nothing."""


@dataclass(frozen=True)
class Work:
    """Measurements of all runs of one stage.

    Parameters
    ----------
    runs
        The runs, in their order.
    slots
        Tasks that could run at a time, S.
    line
        Seconds of a task as a function of its rows.
    by_output
        Whether these are its output rows, as in a join, and not its input rows.
    """

    runs: Sequence[Run]
    slots: int
    line: Line
    by_output: bool

    @classmethod
    def of(cls, runs: Sequence[Run], slots: int) -> Work:
        """Fit the line to all tasks of all runs, by input or output rows, whichever fits better."""
        seconds = [each for run in runs for each in run.seconds]
        rows = [each for run in runs for each in run.rows]
        taken = fit_line(rows, seconds)
        if any(run.outputs is None or len(run.read.exchanges) == 1 for run in runs):
            return cls(runs, slots, taken, by_output=False)
        outputs = [each for run in runs for each in run.outputs or ()]
        given = fit_line(outputs, seconds)
        better = _off(given, outputs, seconds) < _off(taken, rows, seconds)
        return cls(runs, slots, given if better else taken, by_output=better)

    @property
    def seconds(self) -> float:
        """Wall time of the runs: their tasks scheduled on the slots."""
        return sum(makespan(run.seconds_as_begun, self.slots) for run in self.runs)

    @property
    def skew_cost(self) -> float:
        """Wall time lost by imbalance of tasks, whatever its cause."""
        return sum(skew_cost(run.seconds_as_begun, self.slots) for run in self.runs)

    @property
    def worst(self) -> Run:
        """The run in which the largest task exceeds the mean by most rows."""
        return max(self.runs, key=lambda run: max(run.rows) - statistics.fmean(run.rows))

    def predicted(self, remedy: Remedy) -> float:
        """Give the wall time that the runs would have with a remedy.

        The saved time is that which depends on rows: the tasks by the line, scheduled on the slots,
        less the tasks of the remedy. Other time, such as that of one slow host, stays. The cost of
        the remedy's plan is added, see `counting`.
        """
        saved = sum(self._saved(run, remedy) for run in self.runs)
        return self.seconds - saved + self.counting(remedy)

    def counting(self, remedy: Remedy) -> float:
        """Give the wall time in which a remedy reads its input once more, to count its keys.

        It is at least that of the stages that made the input: stages before their own shuffles
        may have to run again too.
        """
        return sum(sum(run.writing[: remedy.counted]) for run in self.runs)

    def _saved(self, run: Run, remedy: Remedy) -> float:
        drivers = run.outputs if self.by_output and run.outputs is not None else run.rows
        now = makespan([self.line.at(drivers[each]) for each in run.order_begun], self.slots)
        # As many tasks as now, at least one per slot: the fixed time of a task stays.
        tasks = max(len(run.tasks), self.slots)
        longest = self.line.at(max(drivers))
        after = math.ceil(tasks / self.slots) * self.line.at(sum(drivers) / tasks)
        if remedy.how == "whole":
            after = max(after, min(longest, self.line.at(hottest_rows(drivers))))
        return now - after


def hottest_rows(rows: Sequence[int]) -> float:
    """Estimate the rows of the hottest key: the excess of the largest task over the others.

    A log has rows by task, not by key. The largest task holds the hottest key and, of all other
    keys, about as much as another task: the median. The estimate is at most the largest task's
    rows.

    Examples
    --------
    >>> hottest_rows([100, 110, 90, 900])
    800
    """
    if len(rows) < _FEW_TASKS:
        return 0
    most = max(rows)
    others = sorted(rows)[:-1]
    return most - min(most, statistics.median(others))


def together(runs: Sequence[Run], what: str) -> float:
    """Give the largest task over the mean; of several runs the sum of the first over the second.

    Parameters
    ----------
    runs
        The runs.
    what
        ``rows``, ``bytes`` or ``seconds``.
    """
    series = [getattr(run, what) for run in runs]
    if len(series) == 1:
        return fullness(series[0])
    means = sum(statistics.fmean(each) for each in series)
    return sum(map(max, series)) / means if means else 1.0


def _off(line: Line, values: Sequence[float], seconds: Sequence[float]) -> float:
    return sum((line.at(value) - took) ** 2 for value, took in zip(values, seconds, strict=True))
