"""``evenkey diagnose``: find the stages that skewed keys slow down, and what to change."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from evenkey.cli.diagnosis_text import print_diagnosis
from evenkey.cli.error_lines import report_error, reported
from evenkey.cli.output import JsonOption, echo, print_json, shortened
from evenkey.cli.progress_bars import shown_step, step_bar
from evenkey.core.checking import number
from evenkey.core.errors import ConfigurationError
from evenkey.core.profiles import check_writable, read_profile, update_profile
from evenkey.reports.diagnosis import (
    Thresholds,
    diagnose,
    profile_lines,
    profile_values,
    read_earlier,
    with_tasks,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.core.profiles import Profile
    from evenkey.reports.diagnosis import Comparison, Diagnosis, Finding

_USUAL = Thresholds()
_limit_option = functools.partial(typer.Option, rich_help_panel="Thresholds")
_automation_option = functools.partial(typer.Option, rich_help_panel="Automation")
_profile_option = functools.partial(typer.Option, rich_help_panel="Profile")
_ABOVE = 3
"""Exit code if the speedup of a stage exceeds ``--fail-above``."""


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
        ),
    ] = None,
    last_hours: Annotated[
        float | None,
        typer.Option(
            metavar="HOURS",
            help="Only applications of so many hours before now; from a history server all of "
            "them, instead of the newest 20.",
        ),
    ] = None,
    page: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write a page with a chart of each stage to change; needs the extra `pages`.",
        ),
    ] = None,
    least_fullness: Annotated[
        float,
        _limit_option(
            metavar="RATIO", help="Minimum ratio of rows in the largest task to the mean."
        ),
    ] = _USUAL.least_fullness,
    least_gain: Annotated[
        float, _limit_option(metavar="FACTOR", help="Minimum speedup of the stage.")
    ] = _USUAL.least_gain,
    least_seconds: Annotated[
        float, _limit_option(metavar="SECONDS", help="Minimum wall time saved, in seconds.")
    ] = _USUAL.least_seconds,
    form: Annotated[
        Literal["text", "json", "markdown"],
        _automation_option("--format", metavar="text|json|markdown", help="Form of the report."),
    ] = "text",
    fail_above: Annotated[
        float | None,
        _automation_option(
            metavar="FACTOR",
            help="End with exit code 3 if the speedup of a stage to change exceeds FACTOR, and "
            "print a line for each on standard error.",
        ),
    ] = None,
    earlier: Annotated[
        Path | None,
        _automation_option(
            metavar="FILE",
            help="Earlier diagnosis, as --format json printed it: report what is new, worse and "
            "fixed. --fail-above then counts only stages that are new or worse.",
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        _profile_option(
            metavar="FILE",
            help="Profile of the job, as eks.record wrote it: add rows and seconds of tasks from "
            "the logs to it, and report its operations.",
        ),
    ] = None,
    show_keys: Annotated[
        bool,
        _profile_option(
            "--show-keys",
            help="Name the hot keys of the profile: by their text if it was recorded, else by "
            "their hash. Otherwise only their shares are reported.",
        ),
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Find the stages of finished jobs that skewed keys slow down, and the lines to change.

    Reads Spark's event logs and does not start Spark.
    """
    if as_json and form == "markdown":
        message = "--json and --format markdown: a report has one form; pass one of the two"
        raise ConfigurationError(message)
    if fail_above is not None:
        number("fail_above", fail_above, least=1)
    if show_keys and profile is None:
        message = "--show-keys: only a profile has keys; pass --profile FILE too"
        raise ConfigurationError(message)
    before = None if earlier is None else read_earlier(earlier)
    recorded = None if profile is None else read_profile(profile)
    if profile is not None:
        check_writable(profile)
    if page is not None:
        with shown_step("diagnose", "loading Matplotlib"):
            from evenkey.reports.diagnosis import check_page

            check_page(page)
    with step_bar("diagnose", "MiB", "reading", timed=True) as show:
        found = diagnose(
            source,
            application=application,
            last_hours=last_hours,
            least_fullness=least_fullness,
            least_gain=least_gain,
            least_seconds=least_seconds,
            on_progress=lambda done, total, name: show(done >> 20, total >> 20, shortened(name)),
        )
    since = None if before is None else found.since(before)
    # A file that cannot be written must not hide what was found.
    faults: list[Exception] = []
    lines: list[str] = []
    values = None
    if profile is not None and recorded is not None:
        recorded, of_earlier_logs = _add_tasks(profile, recorded, found, faults)
        lines = list(profile_lines(recorded, of_earlier_logs, keys=show_keys))
        values = profile_values(recorded, of_earlier_logs, keys=show_keys)
    form = "json" if as_json else form
    _print(found, since, page, lines, values, form)
    if page is not None:
        _write_page(found, page, form, faults)
    above = () if fail_above is None else (found if since is None else since).above(fail_above)
    _end(above, faults)


def _add_tasks(
    path: Path, known: Profile, found: Diagnosis, faults: list[Exception]
) -> tuple[Profile, Profile]:
    """Add tasks to a profile, and return it with and without them.

    The file is read again, because recordings may have ended while the logs were read.
    """
    newest = known

    def changed(profile: Profile) -> Profile:
        nonlocal newest
        newest = profile
        return with_tasks(profile, found.applications)

    try:
        written = update_profile(path, changed)
    except ConfigurationError as error:
        faults.append(error)
        written = changed(newest)
    return written, newest


def _write_page(found: Diagnosis, page: Path, form: str, faults: list[Exception]) -> None:
    from evenkey.reports.diagnosis import write_page

    try:
        write_page(found, page)
    except Exception as error:  # noqa: BLE001 - reported at the end
        faults.append(error)
    else:
        if form == "text":
            echo(f"page: {page}")


def _print(
    found: Diagnosis,
    since: Comparison | None,
    page: Path | None,
    lines: list[str],
    values: dict[str, Any] | None,
    form: str,
) -> None:
    if form == "json":
        compared = None if since is None else since.to_json()
        shown = None if page is None else str(page)
        print_json({**found.to_json(), "since": compared, "profile": values, "page": shown})
    elif form == "markdown":
        echo(found.to_markdown(since, lines), nl=False)
    else:
        print_diagnosis(found, since, lines)


def _end(above: Sequence[Finding], faults: Sequence[Exception]) -> None:
    """Print what failed and the stages above the limit, and end with the exit code for them."""
    code = max((report_error(each) for each in faults), default=0)
    for each in above:
        echo(each.line, err=True)
    if above or code:
        raise typer.Exit(_ABOVE if above else code)
