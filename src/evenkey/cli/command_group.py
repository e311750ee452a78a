"""The program's group of commands, which reports a usage error in one line."""

from __future__ import annotations

import re
import sys
from typing import Any

import typer

from evenkey.cli.help_pages import Group
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
