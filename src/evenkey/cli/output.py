"""Print results on standard output, and everything else on standard error."""

from __future__ import annotations

import contextlib
import json
import math
import os
import sys
import textwrap
from typing import TYPE_CHECKING, Annotated, Any

import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from evenkey.core.printed_text import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rich.console import ConsoleOptions, RenderableType

JsonOption = Annotated[
    bool,
    typer.Option("--json", help="Print one JSON object on standard output, and nothing else."),
]

_STANDARD_OUTPUT, _STANDARD_ERROR = 1, 2
_LAYOUT = "\n\t"
"""Control characters that a program prints itself."""
_LONGEST_TEXT = 24
_BULLET = "- "


@contextlib.contextmanager
def standard_output_kept(*, wanted: bool) -> Iterator[None]:
    """Redirect standard output to standard error while the context is open, if `wanted`.

    This includes the output of child processes such as Spark's, which would otherwise be mixed
    with the results.
    """
    if not wanted:
        yield
        return
    sys.stdout.flush()
    kept = os.dup(_STANDARD_OUTPUT)
    try:
        os.dup2(_STANDARD_ERROR, _STANDARD_OUTPUT)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        os.dup2(kept, _STANDARD_OUTPUT)
        os.close(kept)


class Printer(Console):
    """A console on which texts from data cannot control the terminal."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        """Render as Rich does, with characters that are not printable as ``?``."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text, kept=_LAYOUT), style, control)


def echo(text: str, *, err: bool = False, nl: bool = True) -> None:
    """Print a text, in which data cannot control the terminal; `err` is for standard error."""
    typer.echo(printable(text, kept=_LAYOUT), err=err, nl=nl)


def print_json(figures: dict[str, Any]) -> None:
    """Print one JSON object; a float that is NaN or infinite becomes null."""
    typer.echo(json.dumps(_finite(figures), indent=2, allow_nan=False))


def print_title(console: Console, title: str) -> None:
    """Print the title of a table on one line, even if the terminal is narrower."""
    console.print(printable(title), style="bold", highlight=False, markup=False, soft_wrap=True)


def print_plain(console: Console, text: str, *, wrapped: bool = True) -> None:
    """Print a text as it is; if `wrapped`, with line ends between words."""
    console.print(text, highlight=False, markup=False, soft_wrap=not wrapped)


def print_point(console: Console, text: str) -> None:
    """Print a point of a list, whose further lines are indented as far as its first word."""
    width = console.width - len(_BULLET)
    lines = textwrap.wrap(text, width, break_on_hyphens=False, break_long_words=False)
    shown = _BULLET + f"\n{' ' * len(_BULLET)}".join(lines)
    print_plain(console, shown, wrapped=False)


def print_cells(
    console: Console,
    first: str,
    results: Sequence[dict[str, Any]],
    cells: Callable[[dict[str, Any]], dict[str, str]],
) -> None:
    """Print a table with a row for each result: its figure `first`, then its cells by heading."""
    rows = [cells(figures) for figures in results]
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    table.add_column(first, overflow="fold")
    for heading in rows[0]:
        table.add_column(heading, justify="right", no_wrap=True)
    for figures, row in zip(results, rows, strict=True):
        table.add_row(escape(figures[first]), *row.values())
    console.print()
    console.print(table)


def print_rows(console: Console, rows: Sequence[tuple[str, str]]) -> None:
    """Print names and values in two columns; the terminal wraps long values, so paths stay whole.

    Parameters
    ----------
    console
        Where to print.
    rows
        Name and value of each row.
    """
    longest = max(len(name) for name, _ in rows)
    for name, value in rows:
        console.print(Text.assemble((f" {name:<{longest}}  ", "dim"), value), soft_wrap=True)


def print_end(console: Console, figures: dict[str, Any]) -> None:
    """Print whether a run was finished before, or has stopped early."""
    if figures["finished_before"]:
        console.print("Already finished: nothing was run; these are the figures of that run.")
    if not figures["finished"]:
        console.print("Stopped early: with an output, the same command continues the run.")


def shortened(text: str) -> str:
    """Cut a text to 24 characters, so that it fits beside a progress bar.

    Examples
    --------
    >>> shortened("eventlog_v2_app-20261122101500-0007")
    'eventlog_v2_app-20261122...'
    """
    return text if len(text) <= _LONGEST_TEXT else f"{text[:_LONGEST_TEXT]}..."


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def whole(value: float | None) -> str:
    """Format a number without decimals, with commas between thousands; None becomes ``-``.

    Examples
    --------
    >>> whole(1234567.8)
    '1,234,568'
    """
    return "-" if value is None else f"{value:,.0f}"


def number(value: float | None, decimals: int = 2) -> str:
    """Format a number with fixed decimals, with commas between thousands; None becomes ``-``.

    Examples
    --------
    >>> number(1.31623, 3)
    '1.316'
    """
    return "-" if value is None else f"{value:,.{decimals}f}"
