"""``evenkey run``: run one pipeline, from its source to its sink."""

from __future__ import annotations

import typer

from evenkey.applications import ApplicationConfig
from evenkey.cli.command_options import with_options_of
from evenkey.cli.error_lines import reported
from evenkey.cli.output import JsonOption, print_json
from evenkey.cli.progress_bars import shown_run
from evenkey.cli.summary import print_run

_EXAMPLE = (
    "Example: evenkey run --input clicks.csv --key user --workers 10 --output out\n"
    "All options: evenkey run --help-all"
)


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    command = with_options_of(ApplicationConfig, brief=True)(_run)
    app.command("run", epilog=_EXAMPLE)(reported(command))


def _run(*, config: ApplicationConfig, as_json: JsonOption = False) -> None:
    """Read a stream, route it by a grouping, aggregate it, and write the results.

    An aggregator or an application computes the results. With --output, the same command continues
    a stopped run.
    """
    config.check_paths()
    with shown_run(config.output, as_json=as_json, live=config.sink != "console") as show:
        from evenkey import applications

        report = applications.run(config, on_progress=show)
    if as_json:
        print_json({**report.to_json(), "configuration": config.manifest()})
    else:
        print_run(report)
