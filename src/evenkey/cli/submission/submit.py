"""``evenkey submit``: run a program of PySpark by its profile, or record its profile."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Annotated, Any

import typer

from evenkey.cli.error_lines import reported
from evenkey.cli.output import echo
from evenkey.cli.submission.run_file import run_program
from evenkey.core.errors import ConfigurationError
from evenkey.core.profiles import check_writable, read_profile

_EXAMPLE = (
    "Example: evenkey submit job.py -- --day 2026-11-26\n"
    "By spark-submit: spark-submit $(evenkey submit --launcher) job.py -- ARGS"
)


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    app.command("submit", epilog=_EXAMPLE)(reported(_submit))


def _print_launcher(wanted: bool) -> None:
    if wanted:
        echo(str(Path(__file__).with_name("launcher.py")))
        raise typer.Exit


def _submit(
    job: Annotated[Path, typer.Argument(metavar="JOB", help="Program that runs unchanged.")],
    arguments: Annotated[
        list[str] | None,
        typer.Argument(metavar="ARGS", help="Arguments of the program, after --."),
    ] = None,
    *,
    profile: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Profile of the program. If there is no such file, the run is recorded into it. "
            "Default: JOB with .profile.json in place of .py.",
        ),
    ] = None,
    record: Annotated[
        bool,
        typer.Option(
            "--record", help="Record the run, with Spark's own placement, also if a profile exists."
        ),
    ] = False,
    least_gain: Annotated[
        float,
        typer.Option(metavar="FACTOR", help="Least predicted gain of a call that is rerouted."),
    ] = 1.2,
    launcher: Annotated[
        bool,
        typer.Option(
            "--launcher",
            help="Print the path of the main file for spark-submit.",
            is_eager=True,
            callback=_print_launcher,
        ),
    ] = False,
) -> None:
    """Run a program of PySpark unchanged, with the balanced plans of its profile.

    Without a profile the run is recorded. A summary is printed on standard error. Exit code and
    output are those of the program.
    """
    del launcher
    if not job.is_file():
        message = f"JOB = {str(job)!r}: there is no such file; pass the program to run"
        raise ConfigurationError(message)
    # The program may change the working directory before it makes a session.
    path = (profile or job.with_suffix(".profile.json")).absolute()
    records = record or not path.exists()
    if path.exists():
        read_profile(path)
    if records:
        check_writable(path)
    from evenkey import spark as eks

    sessions = eks.profiled_sessions(path, records=records, least_gain=least_gain)
    with contextlib.ExitStack() as stack:
        # The report follows the end of the sessions, also if the program ends this process.
        reporting = stack.enter_context(contextlib.ExitStack())
        found = stack.enter_context(sessions)
        reporting.callback(_report, path, found, records=records)
        code = run_program(job, arguments or [])
    if code:
        raise typer.Exit(code)


def _report(path: Path, found: Any, *, records: bool) -> None:
    if not found.ended:
        echo("evenkey: the program started no Spark session", err=True)
    elif records and not found.faults:
        echo(f"evenkey: recorded {path}; the next run follows it", err=True)
    for fault in found.faults:
        echo(f"evenkey: {'not recorded: ' if records else ''}{fault}", err=True)
    for each in () if records else found.ended:
        for line in each.summary or ["no call is in the profile"]:
            echo(f"evenkey: {line}", err=True)
