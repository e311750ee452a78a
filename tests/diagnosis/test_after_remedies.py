"""Predicted effects of a change, for tasks whose seconds follow from their rows."""

from __future__ import annotations

import pytest

from evenkey.reports.diagnosis.after_remedies import Work
from evenkey.reports.diagnosis.reading.spark_application import Execution, Task
from evenkey.reports.diagnosis.reading.spark_plans import keyed_reads, node_of
from evenkey.reports.diagnosis.remedies import Remedy
from evenkey.reports.diagnosis.stage_runs import Run
from evenkey.reports.diagnosis.task_times import fit_line, hottest_rows
from tests.diagnosis.writing import applied, exchange, node

SPLIT, WHOLE = (Remedy(how, "", "") for how in ("split", "whole"))
JOIN = node("SortMergeJoin", "SortMergeJoin [a#1], [a#2], Inner", exchange(7), exchange(8))


def run_of(rows, seconds, plan=None, sides=None, outputs=None):
    plan = node_of(applied() if plan is None else plan)
    (read,) = keyed_reads(plan)
    tasks = tuple(
        Task(index, float(index), took, number, 10 * number)
        for index, (number, took) in enumerate(zip(rows, seconds, strict=True))
    )
    return Run(0, Execution(0, plan, ""), read, tasks, tuple(rows), sides, outputs)


def by_rows(rows, fixed=0.5, slope=0.01):
    return run_of(rows, [fixed + slope * each for each in rows])


def test_balanced_tasks_keep_their_time():
    work = Work.of([by_rows([250] * 4)], 4)
    assert work.predicted(SPLIT) == pytest.approx(work.seconds) == pytest.approx(3.0)


def test_fewer_tasks_alone_are_no_gain():
    rows = [100, 100, 100, 100, 100, 100, 100, 500]
    work = Work.of([by_rows(rows)], 4)
    assert work.seconds == pytest.approx(1.5 + 5.5)
    assert work.predicted(SPLIT) == pytest.approx(2 * (0.5 + 1.5))  # two waves of eight tasks


def test_a_repartition_has_one_task_per_slot():
    work = Work.of([by_rows([100, 100, 100, 100, 100, 100, 600], fixed=0.0)], 4)
    repartition = Remedy.of_spark("repartition", "", "df.repartition(4)", "low")
    assert work.predicted(repartition) == pytest.approx(3)
    assert work.predicted(SPLIT) == pytest.approx(2 * 1200 / 7 * 0.01)  # two waves of seven tasks


def test_fewer_tasks_than_slots_become_as_many():
    work = Work.of([by_rows([100, 500])], 4)
    assert work.predicted(SPLIT) == pytest.approx(0.5 + 1.5)


def test_a_whole_key_is_not_split():
    work = Work.of([by_rows([100, 100, 100, 900])], 4)
    assert hottest_rows((100, 100, 100, 900)) == 800
    assert work.predicted(WHOLE) == pytest.approx(0.5 + 8)
    assert work.predicted(SPLIT) == pytest.approx(0.5 + 3)


def test_light_keys_that_chance_put_together_are_taken_apart():
    work = Work.of([by_rows([500, 400, 200, 100])], 4)
    assert work.predicted(WHOLE) == pytest.approx(work.predicted(SPLIT)) == pytest.approx(3.5)


def test_time_that_does_not_depend_on_rows_stays():
    rows = [100, 700, 100, 100]
    slow = [1.5, 7.5, 1.5, 11.5]
    work = Work.of([run_of(rows, slow)], 4)
    assert work.seconds == 11.5
    assert work.predicted(SPLIT) > 11.5 - 4.5


@pytest.mark.parametrize("hot", [18.0, 22.0])
def test_the_work_of_all_tasks_takes_its_share_of_the_slots(hot):
    # The hot task is faster than its rows say: by the line, nearly all of its time could be saved.
    rows = [60 + each * 80 // 198 for each in range(199)]
    seconds = [0.1 * each for each in rows]
    work = Work.of([run_of([*rows, 400], [*seconds, hot])], 200)
    least = (sum(seconds) + hot) / 200
    assert work.explained > 0.5
    assert work.predicted(SPLIT) == pytest.approx(least)
    assert work.predicted(WHOLE) >= least
    dropped = Remedy.of_spark("drop", "", "", "high")
    share = 300 / sum([*rows, 400])
    assert work.predicted(dropped) == pytest.approx(least * (1 - share))


def test_runs_add_up():
    runs = [by_rows([100, 700, 100, 100]), by_rows([10, 70, 10, 10])]
    work = Work.of(runs, 4)
    assert work.seconds == pytest.approx(7.5 + 1.2)
    assert work.predicted(SPLIT) == pytest.approx(3.0 + 0.75)
    assert work.worst is runs[0]


def test_a_join_is_measured_by_its_output_if_that_explains_its_time():
    rows, outputs = [100, 130, 110, 100], (100, 9000, 200, 100)
    seconds = [0.001 * each for each in outputs]
    work = Work.of([run_of(rows, seconds, JOIN, None, outputs)], 4)
    assert work.by_output
    assert work.line == fit_line(outputs, seconds)
    assert work.predicted(SPLIT) == pytest.approx(0.001 * sum(outputs) / 4)
    taken = Work.of([run_of(rows, [0.01 * each for each in rows], JOIN, None, outputs)], 4)
    assert not taken.by_output
    assert taken.line == fit_line(rows, [0.01 * each for each in rows])
