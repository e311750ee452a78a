"""The program ``evenkey``: its subcommands, and the options that they share."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from typing import Annotated, Any

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
from evenkey.cli.error_lines import show_traces
from evenkey.cli.help_pages import Commands, Group
from evenkey.cli.output import echo
from evenkey.core.addresses import without_password

_USAGE_ERROR: Any = typer.BadParameter.__base__
"""The base class of usage errors, which Typer does not export itself."""

_WORDS = (
    (re.compile(r"Input should be a valid integer.*"), "it must be a whole number"),
    (re.compile(r"Input should be a valid number.*"), "it must be a number"),
    (re.compile(r"Input should be"), "it must be"),
    (re.compile(r"Value error, "), ""),
)
"""Phrases in messages of Typer and Pydantic, and the text that replaces them."""


class Program(Group):
    """The group of all commands. It prints a usage error as one line, without Typer's box."""

    def main(self, *arguments: Any, **extra: Any) -> Any:
        """Run the program with the given arguments; by default with those of the process."""
        if not extra.pop("standalone_mode", True):
            return super().main(*arguments, **{**extra, "standalone_mode": False})
        try:
            code = super().main(*arguments, **{**extra, "standalone_mode": False})
        except _USAGE_ERROR as error:
            sys.exit(_report(error))
        sys.exit(code if isinstance(code, int) else 0)


def _report(error: Any) -> int:
    """Print a usage error in one line; return the exit code."""
    message = without_password(error.format_message())
    for theirs, ours in _WORDS:
        message = theirs.sub(ours, message)
    where = "evenkey" if error.ctx is None else error.ctx.command_path
    echo(f"error: {message.rstrip('.')}; see `{where} --help`", err=True)
    return int(error.exit_code)


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
