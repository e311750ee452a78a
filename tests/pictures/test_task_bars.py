"""Timelines: bars of tasks on one axis, in slots."""

from __future__ import annotations

from typing import Any

from matplotlib.figure import Figure

from evenkey.reports.pictures import Span, Timeline
from evenkey.reports.pictures.task_bars import in_slots

SLOW = [Span(0, 8, 1), *(Span(0, 1, 1) for _ in range(3))]
FAST = [Span(0, 2, 2) for _ in range(4)]


def test_a_task_gets_the_first_slot_that_is_free():
    spans = [Span(0, 5, 0), Span(0, 1, 0), Span(0.5, 2, 0), Span(1, 3, 0), Span(4, 6, 0)]
    assert in_slots(spans) == [0, 1, 2, 1, 1]
    assert in_slots([Span(0, 1.02, 0), Span(1, 2, 0)]) == [0, 0]


def test_tasks_that_overlap_have_different_slots():
    spans = [Span(start / 7, start / 7 + 1 + start % 3, 0) for start in range(50)]
    slots = in_slots(spans)
    for one in range(50):
        for other in range(one):
            if spans[other].end > spans[one].start + 0.05:
                assert slots[one] != slots[other]


def test_jobs_are_above_each_other_on_one_axis_with_a_bar_per_task():
    figure: Any = Figure()
    Timeline("Tasks", {"Spark: 8 s": SLOW, "evenkey: 2 s": FAST}).plot().fill(figure, 400)
    slow, fast = figure.axes
    assert [each.get_width() for each in slow.patches] == [8, 1, 1, 1]
    assert [each.get_width() for each in fast.patches] == [2, 2, 2, 2]
    assert len({each.get_y() for each in fast.patches}) == 4
    assert slow.get_xlim() == fast.get_xlim()
    assert slow.get_position().y0 > fast.get_position().y1
    assert (slow.get_xlabel(), fast.get_xlabel()) == ("", "Seconds since the job began")
