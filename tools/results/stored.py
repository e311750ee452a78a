"""Stored results: what a command printed, and where and when it ran."""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
CATALOG = Path(__file__).with_name("catalog.toml")
FOLDER = ROOT / "docs" / "results"

_STEP = re.compile(r"([^.\[\]]+)|\[([^=\]]+)=([^\]]+)\]")


class FigureError(Exception):
    """A figure that a result does not have."""


@dataclass(frozen=True)
class Entry:
    """A result in the catalog.

    Parameters
    ----------
    name
        The name of its file.
    command
        Prints one JSON object.
    code
        Paths whose changes make the result outdated.
    deterministic
        Whether every run on every machine prints the same figures, so that the command can run on
        a loaded machine. Marked figures are such figures, not seconds.
    """

    name: str
    command: str
    code: tuple[str, ...]
    deterministic: bool = False

    @property
    def file(self) -> Path:
        """Where the result is stored."""
        return FOLDER / f"{self.name}.json"

    @property
    def is_stored(self) -> bool:
        """Whether the command has been run."""
        return self.file.exists()

    @property
    def is_dirty(self) -> bool:
        """Whether the code had uncommitted changes when the stored result was made."""
        return bool(self.read().get("dirty"))

    def read(self) -> dict[str, Any]:
        """Read the stored result."""
        stored: dict[str, Any] = json.loads(self.file.read_text("utf-8"))
        return stored

    def printed(self) -> Any:
        """Run the command and return what it prints.

        Raises
        ------
        CalledProcessError
            The command failed.
        """
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(  # noqa: S603 - the catalog's commands
            shlex.split(self.command),
            cwd=ROOT,
            env={**os.environ, "PATH": path},
            stdout=subprocess.PIPE,
            text=True,
            check=True,
        )
        return json.loads(done.stdout)

    @property
    def source(self) -> str:
        """A line on where the figures come from: command, commit, date, versions and hardware."""
        stored = self.read()
        changed = " with uncommitted changes" if self.is_dirty else ""
        made = f"`{stored['command']}` at commit {stored['commit'][:8]}{changed}, {stored['date']}"
        if self.deterministic:
            return f"{made}; the figures are the same on every machine."
        machine, versions = stored["hardware"], stored["versions"]
        return (
            f"{made}, Spark {versions['pyspark']}, Python {versions['python']}, "
            f"{machine['cores']} cores of {machine['processor']}, "
            f"{machine['memory'] / 2**30:.0f} GiB."
        )

    def changed_since(self) -> list[str]:
        """List the files that changed since the commit of the result; `code` limits them."""
        commit = self.read()["commit"]
        done = subprocess.run(  # noqa: S603 - our own arguments
            ["git", "diff", "--name-only", commit, "--", *self.code],  # noqa: S607
            cwd=ROOT,
            capture_output=True,
            text=True,
            check=False,
        )
        # A shallow clone may not have the commit.
        return done.stdout.split() if done.returncode == 0 else []


def catalog() -> dict[str, Entry]:
    """Read the catalog."""
    listed = tomllib.loads(CATALOG.read_text("utf-8"))
    return {
        name: Entry(**{**entry, "name": name, "code": tuple(entry["code"])})
        for name, entry in listed.items()
    }


def figure(printed: Any, path: str) -> Any:
    """Find a figure in what a command printed.

    Parameters
    ----------
    printed
        Objects, lists and values, as JSON has them.
    path
        Keys, separated by dots; ``[key=value]`` selects the first object of a list that has it,
        with underscores for the blanks of a value.

    Raises
    ------
    FigureError
        There is none.

    Examples
    --------
    >>> figure({"results": [{"grouping": "kg", "load": 3}]}, "results[grouping=kg].load")
    3
    """
    found = printed
    for key, name, value in _STEP.findall(path):
        try:
            found = (
                found[key]
                if key
                else next(e for e in found if str(e[name]).replace(" ", "_") == value)
            )
        except (KeyError, TypeError, StopIteration):
            message = f"{path}: there is no {key or f'{name} = {value}'}"
            raise FigureError(message) from None
    return found
