"""Timelines: a bar for each task on one time axis, in one panel for each job."""

from __future__ import annotations

import heapq
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from evenkey.reports.pictures.chart import Plot
from evenkey.reports.pictures.drawing import matplotlib
from evenkey.reports.pictures.theme import THEMES
from evenkey.reports.pictures.ticks import number

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.figure import Figure

_LIGHT = THEMES["light"]
_SLOT_PIXELS = 17
_TITLE_PIXELS = 34
_AXIS_PIXELS = 46
_PIXELS_PER_TICK = 70
_LATE_SECONDS = 0.05
"""A driver hears of a task's end so much later than the slot starts the next task."""


class Span(NamedTuple):
    """A task on the time axis.

    Parameters
    ----------
    start, end
        Seconds since the job began.
    colour
        Position of the colour in `Theme.runs`.
    """

    start: float
    end: float
    colour: int


@dataclass(frozen=True)
class Timeline:
    """The tasks of several jobs, one job above the other, on one time axis.

    Each line of a job is a slot, which runs one task at a time. The image does not name the slots.

    Parameters
    ----------
    title
        What the image shows.
    jobs
        The tasks of each job, by the job's title.
    note
        Text below the image.
    """

    title: str
    jobs: dict[str, Sequence[Span]]
    note: str = ""

    def plot(self) -> Plot:
        """Return the timeline as an image of a page."""
        return Plot(self.title, self._fill, self._height, self.note)

    def _height(self, width: int) -> int:
        del width  # the same for all
        return sum(_TITLE_PIXELS + _SLOT_PIXELS * each for each in self._slots()) + _AXIS_PIXELS

    def _slots(self) -> list[int]:
        return [max(in_slots(spans), default=0) + 1 for spans in self.jobs.values()]

    def _fill(self, figure: Figure, width: int) -> None:
        ticker = matplotlib().ticker
        panels = figure.subplots(
            len(self.jobs), sharex=True, height_ratios=self._slots(), squeeze=False
        )[:, 0]
        for (title, spans), panel in zip(self.jobs.items(), panels, strict=True):
            panel.barh(
                in_slots(spans),
                [each.end - each.start for each in spans],
                left=[each.start for each in spans],
                height=0.8,
                color=[_LIGHT.of_run(each.colour) for each in spans],
            )
            panel.set_title(title)
            panel.set_yticks([])
            panel.grid(visible=True, axis="x")
            panel.invert_yaxis()
        last = panels[-1]
        last.set_xlim(0, 1.02 * max(each.end for spans in self.jobs.values() for each in spans))
        last.xaxis.set_major_locator(ticker.MaxNLocator(max(3, width // _PIXELS_PER_TICK)))
        last.xaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: number(value)))
        last.set_xlabel("Seconds since the job began")


def in_slots(spans: Sequence[Span]) -> list[int]:
    """Return a slot for each task: the first one that is free when the task starts, or soon after.

    Examples
    --------
    >>> in_slots([Span(0, 5, 1), Span(0, 1, 1), Span(1, 2, 1)])
    [0, 1, 1]
    """
    slots = [0] * len(spans)
    free: list[int] = []
    busy: list[tuple[float, int]] = []
    for place in sorted(range(len(spans)), key=lambda each: spans[each].start):
        while busy and busy[0][0] <= spans[place].start + _LATE_SECONDS:
            heapq.heappush(free, heapq.heappop(busy)[1])
        slots[place] = heapq.heappop(free) if free else len(busy)
        heapq.heappush(busy, (spans[place].end, slots[place]))
    return slots
