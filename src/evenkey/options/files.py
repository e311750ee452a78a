"""Files that a configuration names: the TOML file itself, and its output."""

from __future__ import annotations

import os
import tomllib
from typing import TYPE_CHECKING, Any

from evenkey.errors import ConfigurationError

if TYPE_CHECKING:
    from pathlib import Path


def read_toml(file: Path) -> dict[str, Any]:
    """Read options from a TOML file, dashes in their names turned into underscores.

    Raises
    ------
    ConfigurationError
        The file cannot be read, is not TOML (the message has the line), or gives an option
        twice.
    """
    try:
        written = tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        message = f"config {file} cannot be read ({error.strerror}): name a TOML file"
        raise ConfigurationError(message) from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        message = f"config {file} is not TOML: {error}"
        raise ConfigurationError(message) from error
    options: dict[str, Any] = {}
    for key, value in written.items():
        name = key.replace("-", "_")
        if name in options:
            message = f"config {file}: {name} is given twice, with dashes and with underscores"
            raise ConfigurationError(message)
        options[name] = value
    return options


def check_output(output: Path) -> None:
    """Make sure that an absolute path is, or can become, a directory to write in.

    Raises
    ------
    ConfigurationError
        It is a file or under one, or permissions forbid it.
    """
    there = next(path for path in (output, *output.parents) if path.exists())
    if not there.is_dir():
        message = f"output {output} cannot be a directory: {there} is a file; choose another"
        raise ConfigurationError(message)
    if not os.access(there, os.W_OK | os.X_OK):
        message = f"output {output} cannot be written: choose another directory"
        raise ConfigurationError(message)
