"""``evenkey dashboard``: show running and finished pipelines on a live web page."""

from __future__ import annotations

from typing import Annotated

import typer

from evenkey.cli.error_lines import interrupted_with, reported
from evenkey.cli.output import echo
from evenkey.cli.progress_bars import shown_step


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    app.command("dashboard")(reported(_dashboard))


def _dashboard(
    *,
    run: Annotated[
        list[str] | None,
        typer.Option(
            metavar="DIR",
            help="Output of a run or a comparison, or a directory of several: a path or a URI; "
            "may be given several times. Default: the current directory.",
        ),
    ] = None,
    host: Annotated[
        str,
        typer.Option(
            metavar="ADDRESS",
            help="Address to listen on; 0.0.0.0 admits other hosts, without a password.",
        ),
    ] = "127.0.0.1",
    port: Annotated[
        int,
        typer.Option(min=0, max=65535, metavar="PORT", help="Port to listen on; 0: any free port."),
    ] = 8050,
    allow_host: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Host name that browsers may use besides localhost and --host, such as a "
            "proxy's; may be given several times.",
        ),
    ] = None,
) -> None:
    """Show the state of runs on a live web page.

    A run is found by the history in its output directory, so it must have an --output.
    """
    with shown_step("dashboard", "starting"):
        from evenkey.reports.dashboard import Server

        server = Server(run or ["."], host=host, port=port, allow_hosts=allow_host or ())
    echo(f"dashboard at {server.url} (Ctrl-C ends it)")
    with interrupted_with("the runs continue without it"):
        server.serve()
