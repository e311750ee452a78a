"""Show progress on standard error: bars on a terminal, otherwise one line per epoch of a run."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeRemainingColumn,
)
from rich.table import Column

from evenkey.cli.output import number, whole

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from evenkey.pipeline.runs import EpochProgress

_LONGEST_NAME = 20


@contextlib.contextmanager
def message_bar(what: str, messages: int | None) -> Iterator[Callable[[int], None]]:
    """Show a progress bar on standard error, if standard error is a terminal.

    Parameters
    ----------
    what
        Name of the activity.
    messages
        Total number of messages. None: unknown.

    Yields
    ------
    callable
        Function to call with the number of messages so far.
    """
    console = Console(stderr=True)
    columns = TextColumn(what), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task(what, total=messages)
        yield lambda done: bar.update(task, completed=done)


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
    console = Console(stderr=True)
    if not (live and console.is_terminal):
        lines = _Lines(console)
        yield lines.show
        return
    name = Column(max_width=_LONGEST_NAME, no_wrap=True, overflow="ellipsis")
    bars = Progress(
        TextColumn("{task.description}", table_column=name),
        BarColumn(bar_width=None, table_column=Column(ratio=1)),
        TextColumn("{task.fields[figures]}", table_column=Column(no_wrap=True)),
        console=console,
        expand=True,
        redirect_stdout=False,
        redirect_stderr=False,
    )
    shown = _Bars(bars)
    try:
        yield shown.show
        shown.end()
    finally:
        bars.stop()


class _Lines:
    """Prints one line per epoch."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._last = ""

    def show(self, progress: EpochProgress) -> None:
        self._print(_line(progress))

    def _print(self, line: str) -> None:
        if line != self._last:
            _print(self._console, line)
        self._last = line


class _Bars:
    """Shows one bar per grouping, in the order in which the groupings first report."""

    def __init__(self, bars: Progress) -> None:
        self._bars = bars
        self._grouping: str | None = None
        self._figures = ""
        self._messages = 0
        self._current = TaskID(0)

    def show(self, progress: EpochProgress) -> None:
        # Started late, so that an error before the run begins is printed without a bar.
        self._bars.start()
        if progress.grouping != self._grouping:
            self.end()
            self._current = self._bars.add_task(progress.grouping, total=None, figures="")
        self._grouping, self._messages = progress.grouping, progress.messages
        if progress.phase == "running":
            self._figures = _figures(progress)
        self._bars.update(
            self._current,
            completed=_done(progress),
            total=_total(progress),
            figures=self._figures if progress.phase == "running" else progress.phase,
        )
        if progress.detail:
            # The text is too long to stand beside a bar.
            _print(self._bars.console, _line(progress))

    def end(self) -> None:
        """Fill the current bar, and keep the last epoch's figures beside it."""
        if self._grouping is None:
            return
        done = max(1, self._messages)
        self._bars.update(self._current, total=done, completed=done, figures=self._figures)


def _print(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)


def _done(progress: EpochProgress) -> float:
    """Return the work done so far, in the unit of `_total`."""
    return progress.messages if progress.share is None else progress.share


def _total(progress: EpochProgress) -> int | None:
    """Return the total work: 1 if progress is a share of a topic, otherwise all messages.

    None: the total is unknown, for example because lines are split into several messages.
    """
    if progress.share is not None:
        return 1
    known = progress.expected is not None and progress.expected >= progress.messages
    return progress.expected if known else None


def _figures(progress: EpochProgress) -> str:
    return (
        f"epoch {progress.epoch}  {whole(progress.messages)} messages  "
        f"max/mean {number(progress.max_over_mean)}  {whole(progress.messages_per_second)}/s"
    )


def _line(progress: EpochProgress) -> str:
    if progress.phase != "running":
        return f"{progress.grouping}: {progress.phase}{progress.detail}"
    total = _total(progress)
    of_total = "" if total is None or progress.share is not None else f" of {whole(total)}"
    of_topic = "" if progress.share is None else f" ({progress.share:.0%} of the topic read)"
    return (
        f"{progress.grouping}: epoch {progress.epoch}, {whole(progress.messages)}{of_total} "
        f"messages{of_topic}, max/mean {number(progress.max_over_mean)}, "
        f"{whole(progress.messages_per_second)} messages/s"
    )
