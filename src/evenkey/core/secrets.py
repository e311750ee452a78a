"""Passwords: read only from environment variables, or from files that the variables name."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Mapping


def secret(name: str, environment: Mapping[str, str] = os.environ) -> str | None:
    """Read a secret from the variable `name`, or from the file that ``<name>_FILE`` names.

    Parameters
    ----------
    name
        Name of the variable, such as ``EVENKEY_INFLUXDB_PASSWORD``.
    environment
        Environment variables.

    Returns
    -------
    str or None
        The secret; None if neither variable is set. Line ends at the end of a file are removed.

    Raises
    ------
    ConfigurationError
        Both variables are set, or the file cannot be read.
    """
    value, file = environment.get(name), environment.get(f"{name}_FILE")
    if value is not None and file is not None:
        message = f"{name} and {name}_FILE are both set: unset one of them"
        raise ConfigurationError(message)
    if file is None:
        return value
    try:
        return Path(file).read_text(encoding="utf-8").rstrip("\r\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or "it is not text"
        message = f"{name}_FILE = {file!r} cannot be read ({reason}): name a readable file"
        raise ConfigurationError(message) from None
