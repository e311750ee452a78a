"""Show on standard error what a command does: bars on a terminal, otherwise lines now and then.

From its first second a command shows its current step, the time since its start, and, as soon as
they are known, its rate and the time left.
"""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, TextColumn
from rich.table import Column
from rich.text import Text

from evenkey.cli.error_lines import going_on
from evenkey.cli.output import Printer, print_plain, standard_output_kept, whole
from evenkey.core.metrics import FIGURES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    from rich.progress import Task, TaskID

    from evenkey.pipeline.runs import EpochProgress

_MESSAGES = "messages"
_BALANCE = FIGURES["max_over_mean"]
_LONGEST_NAME = 20
_SHORTEST_BAR = 6
"""Minimum width of a bar, with the spaces around it."""

_REFRESH_SECONDS = 0.25
_SHORTEST_LEFT = 0.5
_STEPS = {"warming up": "compiling and starting Python"}
"""What a run does in a phase whose name does not say it."""

_LINE_SECONDS = 5.0
"""Minimum time between two lines about the same step, where standard error is not a terminal."""


@dataclass(frozen=True)
class Stand:
    """How far a piece of work has come.

    Parameters
    ----------
    name
        Name of the work, such as a grouping.
    step
        The current step, such as ``starting Spark``; empty while the work is counted.
    done, total
        Number of units so far and in all. None: the total is unknown.
    unit
        Name of a unit, such as ``messages``.
    share
        Share of the work that is done, if it is not `done` over `total`.
    rate
        Units per second. None: computed from the reports.
    timed
        Whether to show the rate.
    first, last
        Figures to show before and after the number of units.
    brief
        Whether the number in all is left out beside a bar, which shows the share.
    quiet
        Whether the step has no line in a log. An error of a command is then its only line.
    detail
        Text to add to the step that is too long to stand beside a bar.
    """

    name: str
    step: str = ""
    done: int = 0
    total: int | None = None
    unit: str = _MESSAGES
    share: float | None = None
    rate: float | None = None
    timed: bool = True
    first: str = ""
    last: str = ""
    brief: bool = False
    quiet: bool = False
    detail: str = ""

    @property
    def fraction(self) -> float | None:
        """Share of the work that is done; None if it is unknown."""
        if self.share is not None:
            return self.share
        known = self.total is not None and self.total >= self.done
        return self.done / self.total if known and self.total else None

    @property
    def counted(self) -> str:
        """The number of units so far, such as ``25,000 messages``."""
        return f"{whole(self.done)} {self.unit}"

    @property
    def counted_of_all(self) -> str:
        """The number of units so far and in all, such as ``25,000 of 50,000 messages``."""
        if self.share is not None:
            return f"{self.counted} ({self.share:.0%} of the topic read)"
        if self.fraction is None:
            return self.counted
        return f"{whole(self.done)} of {whole(self.total)} {self.unit}"


class _Clock:
    """Measures the time since the start of a piece of work, its rate and the time left."""

    def __init__(self) -> None:
        self._began = self._reported = self._counted_from = time.monotonic()
        self._first: int | None = None
        self._ended: float | None = None
        self.stand = Stand("")

    def report(self, stand: Stand) -> None:
        """Take the state of the work at this moment."""
        self._reported = time.monotonic()
        if not stand.step and self._first is None:
            self._first, self._counted_from = stand.done, self._reported
        self.stand = stand

    def end(self) -> None:
        """Stop the clock."""
        self._ended = time.monotonic()

    @property
    def elapsed(self) -> float:
        """Seconds since the start."""
        return (time.monotonic() if self._ended is None else self._ended) - self._began

    @property
    def rate(self) -> float | None:
        """Units per second; None as long as it is unknown."""
        if self.stand.rate is not None:
            return self.stand.rate
        seconds, done = self._reported - self._counted_from, self.stand.done - (self._first or 0)
        return done / seconds if seconds > 0 and done > 0 else None

    @property
    def left(self) -> float | None:
        """Seconds until the end; None if the end or the rate is unknown, or the end is near."""
        fraction, rate = self.stand.fraction, self.rate
        if not fraction or not rate or self.stand.step or self._ended is not None:
            return None
        left = (1 - fraction) / fraction * self.stand.done / rate
        left -= time.monotonic() - self._reported
        return left if left >= _SHORTEST_LEFT else None

    def parts(self, counted: str) -> list[str]:
        """Return the texts to show, given the text of the number of units."""
        stand, left = self.stand, self.left
        texts = [stand.step] if stand.step else [stand.first, counted, stand.last]
        if self.rate and stand.timed and not stand.step:
            of = "" if stand.unit == _MESSAGES else f" {stand.unit}"
            texts.append(f"{whole(self.rate)}{of}/s")
        times = [_clock_text(self.elapsed), "" if left is None else f"{_clock_text(left)} left"]
        return [each for each in (*texts, *times) if each]


class _Display(Protocol):
    """A way to show the progress of one or several pieces of work, one after the other."""

    def show(self, stand: Stand) -> None:
        """Show the state of a piece of work; another name begins another piece of work."""


class _Lines:
    """Prints a line for each new step, and for the current step a line every few seconds."""

    def __init__(self, console: Console, *, steps: bool) -> None:
        self._console = console
        self._steps = steps
        self._clock = _Clock()
        self._printed = time.monotonic()

    def show(self, stand: Stand) -> None:
        before = self._clock.stand
        if before.name not in ("", stand.name):
            self._clock = _Clock()
        self._clock.report(stand)
        new = (before.name, before.step) != (stand.name, stand.step)
        new = new and self._steps and not stand.quiet
        if stand.detail:
            _say(self._console, stand)
        elif new or time.monotonic() - self._printed >= _LINE_SECONDS:
            self._printed = time.monotonic()
            shown = ", ".join(self._clock.parts(stand.counted_of_all))
            print_plain(self._console, f"{stand.name}: {shown}", wrapped=False)


class _Bars:
    """Shows one bar for each piece of work, in the order in which the work begins."""

    def __init__(self, console: Console, *, kept: bool) -> None:
        name = Column(max_width=_LONGEST_NAME, no_wrap=True, overflow="ellipsis")
        self._bars = Progress(
            TextColumn("{task.description}", table_column=name, markup=False),
            BarColumn(bar_width=None, table_column=Column(ratio=1)),
            _Texts(console),
            console=console,
            expand=True,
            redirect_stdout=False,
            redirect_stderr=False,
            refresh_per_second=1 / _REFRESH_SECONDS,
            transient=True,
        )
        self._kept = kept
        self._clock = _Clock()
        self._drawn = 0.0
        self._current: TaskID | None = None
        self._counted: Stand | None = None

    def show(self, stand: Stand) -> None:
        if self._current is None or self._clock.stand.name not in ("", stand.name):
            self.finish()
            self._clock = _Clock()
            self._current = self._bars.add_task("", total=None, clock=self._clock)
        if not stand.step:
            # What an error leaves on the terminal has figures.
            self._counted, self._bars.live.transient = stand, not self._kept
        now, new = time.monotonic(), stand.step != self._clock.stand.step
        refresh = new or now - self._drawn >= _REFRESH_SECONDS
        self._drawn = now if refresh else self._drawn
        self._clock.report(stand)
        self._draw(stand.fraction, refresh=refresh)
        if stand.detail:
            _say(self._bars.console, stand)

    def begin(self) -> None:
        """Begin to draw."""
        self._bars.start()

    def stop(self) -> None:
        """Draw for the last time."""
        self._bars.stop()

    def finish(self) -> None:
        """Fill the current bar, beside its last figures."""
        if self._counted is None:
            return
        self._clock.report(self._counted)
        self._clock.end()
        self._draw(1.0, refresh=False)
        self._counted = None

    def _draw(self, fraction: float | None, *, refresh: bool) -> None:
        if self._current is not None:
            self._bars.update(
                self._current,
                description=self._clock.stand.name,
                completed=fraction or 0.0,
                total=None if fraction is None else 1.0,
                refresh=refresh,
            )


class _Texts(ProgressColumn):
    """The texts beside a bar, which change as time passes."""

    def __init__(self, console: Console) -> None:
        super().__init__(Column(no_wrap=True))
        self._console = console

    def render(self, task: Task) -> Text:
        clock: _Clock = task.fields["clock"]
        stand = clock.stand
        # Where space is short, the bar alone shows the number of units.
        counts = [stand.counted, ""] if stand.brief else [stand.counted_of_all, stand.counted, ""]
        texts = ["  ".join(clock.parts(each)) for each in counts]
        space = self._console.width - min(len(stand.name), _LONGEST_NAME) - _SHORTEST_BAR
        return Text(next((each for each in texts if len(each) <= space), texts[-1]))


def _draws(console: Console) -> bool:
    """Return whether a console can show bars, which move the cursor.

    ``FORCE_COLOR`` is not enough: it asks for colours in a log.
    """
    return console.is_interactive and console.file.isatty()


def _say(console: Console, stand: Stand) -> None:
    print_plain(console, f"{stand.name}: {stand.step}{stand.detail}", wrapped=False)


@contextlib.contextmanager
def _shown(
    begins: Stand, *, kept: bool = False, live: bool = True, steps: bool = False
) -> Iterator[_Display]:
    """Show progress while the context is open.

    Parameters
    ----------
    begins
        What is shown first.
    kept
        Whether bars with figures stay on the terminal at the end.
    live
        Whether to show bars on a terminal.
    steps
        Whether lines name each step at its beginning.
    """
    console = Printer(stderr=True)
    if not (live and _draws(console)):
        yield _Lines(console, steps=steps)
        return
    bars = _Bars(console, kept=kept)
    bars.show(begins)
    bars.begin()
    try:
        yield bars
        bars.finish()
    finally:
        bars.stop()


@contextlib.contextmanager
def message_bar(what: str, messages: int | None, step: str) -> Iterator[Callable[[int], None]]:
    """Show how many messages an activity has processed.

    Parameters
    ----------
    what
        Name of the activity.
    messages
        Total number of messages. None: unknown.
    step
        What the activity does before the first message.

    Yields
    ------
    callable
        Function to call with the number of messages so far.
    """
    stand = Stand(what, total=messages)
    with _shown(replace(stand, step=step)) as display:
        yield lambda done: display.show(replace(stand, done=done))


@contextlib.contextmanager
def shown_step(what: str, step: str, *, logged: bool = False) -> Iterator[None]:
    """Show a step of an activity that cannot be counted, and the time since its start.

    Parameters
    ----------
    what
        Name of the activity.
    step
        The step, such as ``starting Spark``.
    logged
        Whether a line is printed where standard error is not a terminal.
    """
    stand = Stand(what, step=step)
    with _shown(stand, steps=logged) as display:
        if logged:
            display.show(stand)
        yield


@contextlib.contextmanager
def step_bar(
    what: str, unit: str, step: str, *, timed: bool = False, logged: bool = False
) -> Iterator[Callable[[int, int, str], None]]:
    """Show how many units of a piece of work are done, and the name of the current unit.

    Parameters
    ----------
    what
        Name of the work.
    unit
        Name of the units, such as ``simulations``.
    step
        What the work does before the first unit.
    timed
        Whether to show the rate.
    logged
        Whether a line is printed at the first call, where standard error is not a terminal.

    Yields
    ------
    callable
        Function to call with the number of units so far, their number in all, and the name of the
        current unit.
    """
    stand = Stand(what, unit=unit, timed=timed)
    with _shown(replace(stand, step=step), steps=logged) as display:
        yield lambda done, total, last: display.show(
            replace(stand, done=done, total=total, last=last)
        )


@contextlib.contextmanager
def shown_progress(*, live: bool = True) -> Iterator[Callable[[EpochProgress], None]]:
    """Show the progress of runs, with one bar per grouping.

    Parameters
    ----------
    live
        Whether to show bars on a terminal. False for runs that print results on the terminal,
        because bars would disturb the results.

    Yields
    ------
    callable
        Function to call at the end of each epoch.
    """
    with _shown(Stand("", step="starting"), kept=True, live=live, steps=True) as display:
        yield lambda progress: display.show(_stand(progress))


@contextlib.contextmanager
def shown_run(
    output: Path | str | None, *, as_json: bool, live: bool = True
) -> Iterator[Callable[[EpochProgress], None]]:
    """Show the progress of runs as `shown_progress` does, and say at an interrupt how to go on.

    With `as_json`, nothing but JSON is printed on standard output.
    """
    with going_on(output), standard_output_kept(wanted=as_json), shown_progress(live=live) as show:
        yield show


def _stand(progress: EpochProgress) -> Stand:
    counts = progress.phase == "running"
    return Stand(
        progress.grouping,
        step="" if counts else _STEPS.get(progress.phase, progress.phase),
        done=progress.messages,
        total=progress.expected,
        share=progress.share,
        rate=progress.messages_per_second,
        first=f"epoch {progress.epoch}",
        last=f"{_BALANCE.label} {_BALANCE.written(progress.max_over_mean)}",
        brief=True,
        quiet=progress.phase == "finding the input",
        detail=progress.detail,
    )


def _clock_text(seconds: float) -> str:
    """Write a duration as on a clock: minutes and seconds, or hours, minutes and seconds.

    Examples
    --------
    >>> _clock_text(75.2), _clock_text(3725)
    ('1:15', '1:02:05')
    """
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
