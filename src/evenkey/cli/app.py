"""The program ``evenkey``: its subcommands, and the options that they share."""

from __future__ import annotations

from importlib import metadata
from typing import Annotated

import typer

from evenkey.cli import (
    advise,
    assistants,
    compare,
    dashboard,
    dataset,
    diagnose,
    papers,
    rebalance,
    run,
    simulations,
    submission,
)
from evenkey.cli.command_group import Program
from evenkey.cli.error_lines import show_traces
from evenkey.cli.help_pages import Commands
from evenkey.cli.output import echo

app = Commands(
    name="evenkey",
    cls=Program,
    help="Balances Apache Spark jobs whose keys are skewed.",
    pretty_exceptions_enable=False,
    add_completion=False,
)
_commands = (
    run,
    compare,
    simulations,
    advise,
    diagnose,
    rebalance,
    submission,
    dashboard,
    dataset,
    assistants,
    papers,
)
for _command in _commands:
    _command.register(app)


def _print_version(wanted: bool) -> None:
    if wanted:
        echo(f"evenkey {_version()}")
        raise typer.Exit


def _version() -> str:
    try:
        return metadata.version("evenkey")
    except metadata.PackageNotFoundError:
        return "(not installed, run from its source)"


@app.callback()
def _evenkey(
    *,
    version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version.", is_eager=True, callback=_print_version
        ),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Print the full trace of an error.")
    ] = False,
) -> None:
    del version
    show_traces(wanted=debug)


def main() -> None:
    """Run the program with the arguments of the process."""
    app(prog_name="evenkey")
