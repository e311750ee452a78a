"""``evenkey diagnose``: which stages of jobs suffer from skewed keys, and what to change."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from evenkey.cli.diagnosis_text import print_diagnosis
from evenkey.cli.error_lines import reported
from evenkey.cli.output import JsonOption, print_json
from evenkey.reports.diagnosis import Thresholds, diagnose

if TYPE_CHECKING:
    from evenkey.reports.diagnosis import Diagnosis

_USUAL = Thresholds()
_PANEL = "From where on a stage is named"


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    app.command("diagnose")(reported(_diagnose))


def _diagnose(
    *,
    source: Annotated[
        str,
        typer.Argument(
            metavar="LOG|DIR|URL",
            help="An event log of Spark's, packed or not, a directory of logs, or the address of a "
            "history server or of an application that runs, such as http://host:4040.",
        ),
    ],
    application: Annotated[
        str | None,
        typer.Option(
            metavar="ID",
            help="The only application to look at; else all, of a history server the newest 20.",
            show_default=False,
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page with a picture of each stage to change; needs the extra "
            "`experiments`.",
            show_default=False,
        ),
    ] = None,
    least_fullness: Annotated[
        float,
        typer.Option(
            help="Rows of the fullest task over the mean, at least.", rich_help_panel=_PANEL
        ),
    ] = _USUAL.least_fullness,
    least_gain: Annotated[
        float,
        typer.Option(
            help="How many times shorter the stage would be, at least.", rich_help_panel=_PANEL
        ),
    ] = _USUAL.least_gain,
    least_seconds: Annotated[
        float,
        typer.Option(help="Wall time that it would save, at least.", rich_help_panel=_PANEL),
    ] = _USUAL.least_seconds,
    as_json: JsonOption = False,
) -> None:
    """Name the stages of jobs that ran which suffer from skewed keys, and the lines to change.

    Reads what Spark wrote while they ran; no Spark is started.
    """
    if page is not None:
        from evenkey.reports.diagnosis import check_page

        check_page(page)
    found = diagnose(
        source,
        application=application,
        least_fullness=least_fullness,
        least_gain=least_gain,
        least_seconds=least_seconds,
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
