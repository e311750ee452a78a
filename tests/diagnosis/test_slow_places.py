"""The slowest host or executor, by the paces of its tasks and of the others."""

from __future__ import annotations

import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from evenkey.reports.diagnosis import slow_places
from evenkey.reports.diagnosis.reading.spark_application import Execution, Task
from evenkey.reports.diagnosis.reading.spark_plans import keyed_reads, node_of
from evenkey.reports.diagnosis.slow_places import slow_place
from evenkey.reports.diagnosis.stage_runs import Run
from tests.diagnosis.writing import applied

ROWS = 10


def run_of(tasks):
    """Make a run of tasks of 10 rows each, given the executor and the seconds of each."""
    plan = node_of(applied())
    (read,) = keyed_reads(plan)
    made = tuple(
        Task(index, float(index), seconds, ROWS, 100, executor=executor)
        for index, (executor, seconds) in enumerate(tasks)
    )
    return Run(0, Execution(0, plan, ""), read, made, (ROWS,) * len(made), None, None)


@given(st.lists(st.tuples(st.sampled_from("123"), st.sampled_from([0.0, 1, 2, 3, 8])), max_size=12))
def test_the_slowest_place_is_that_of_the_largest_ratio_of_medians(tasks):
    factors = {}
    for place in {executor for executor, _ in tasks}:
        here = [seconds / ROWS for executor, seconds in tasks if executor == place]
        others = [seconds / ROWS for executor, seconds in tasks if executor != place]
        if len(here) >= 2 <= len(others) and statistics.median(others):
            factors[place] = statistics.median(here) / statistics.median(others)
    found = slow_place([run_of(tasks)])
    if max(factors.values(), default=0) < 1.5:
        assert found is None
    else:
        assert found is not None
        assert found.factor == pytest.approx(max(factors.values()))
        assert factors[found.place] == pytest.approx(found.factor)


def test_each_pace_is_sorted_once_and_once_for_its_place(monkeypatch):
    sizes = []

    def median(values):
        sizes.append(len(found := list(values)))
        return statistics.median(found)

    monkeypatch.setattr(slow_places, "statistics", type("", (), {"median": median}))
    run = run_of([(str(number % 100), 1.0 + number % 3) for number in range(1000)])
    assert slow_place([run]) is None
    assert sum(sizes) == 1000
