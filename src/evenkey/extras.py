"""Packages that only some of what the library does needs."""

from __future__ import annotations

import importlib
from typing import Any

from evenkey.errors import ConfigurationError


def load_extra(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional package.

    Raises
    ------
    ConfigurationError
        The package is missing; the message names the extra that brings it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        message = (
            f"{purpose} needs the package {package}, which is not installed: "
            f"pip install 'evenkey[{extra}]'"
        )
        raise ConfigurationError(message) from error
