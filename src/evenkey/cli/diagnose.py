"""``evenkey diagnose``: find the stages that skewed keys slow down, and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenkey.cli.diagnosis_text import print_diagnosis
from evenkey.cli.error_lines import reported
from evenkey.cli.output import JsonOption, print_json, shortened
from evenkey.cli.progress_bars import step_bar
from evenkey.reports.diagnosis import Thresholds, diagnose

if TYPE_CHECKING:
    from evenkey.reports.diagnosis import Diagnosis

_USUAL = Thresholds()
_PANEL = "Thresholds"


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    app.command("diagnose")(reported(_diagnose))


def _diagnose(
    *,
    source: Annotated[
        str,
        typer.Argument(
            metavar="LOG|DIR|URL",
            help="A Spark event log (may be compressed), a directory of logs, or the address of a "
            "history server or of a running application, such as http://host:4040.",
        ),
    ],
    application: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="Application to examine; default: all, or the newest 20 of a history server.",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page with a chart of each stage to change; needs the extra `pages`.",
            show_default=False,
        ),
    ] = None,
    least_fullness: Annotated[
        float,
        typer.Option(
            metavar="RATIO",
            help="Minimum ratio of rows in the largest task to the mean.",
            rich_help_panel=_PANEL,
        ),
    ] = _USUAL.least_fullness,
    least_gain: Annotated[
        float,
        typer.Option(
            metavar="FACTOR", help="Minimum speedup of the stage.", rich_help_panel=_PANEL
        ),
    ] = _USUAL.least_gain,
    least_seconds: Annotated[
        float,
        typer.Option(
            metavar="SECONDS", help="Minimum wall time saved, in seconds.", rich_help_panel=_PANEL
        ),
    ] = _USUAL.least_seconds,
    as_json: JsonOption = False,
) -> None:
    """Find the stages of finished jobs that skewed keys slow down, and the lines to change.

    Reads Spark's event logs and does not start Spark.
    """
    if page is not None:
        from evenkey.reports.diagnosis import check_page

        check_page(page)
    with step_bar("diagnose", "MiB", "reading", timed=True) as show:
        found = diagnose(
            source,
            application=application,
            least_fullness=least_fullness,
            least_gain=least_gain,
            least_seconds=least_seconds,
            on_progress=lambda done, total, name: show(done >> 20, total >> 20, shortened(name)),
        )
    _print(found, page, as_json=as_json)


def _print(found: Diagnosis, page: Path | None, *, as_json: bool) -> None:
    written = None
    if page is not None:
        from evenkey.reports.diagnosis import write_page

        written = str(write_page(found, page))
    if as_json:
        print_json({**found.to_json(), "page": written})
        return
    print_diagnosis(found)
    if written is not None:
        typer.echo(f"page: {written}")
