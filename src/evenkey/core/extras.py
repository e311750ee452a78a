"""Optional packages: only some functions of the library need them."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

from evenkey.core.errors import ConfigurationError

_OF_THE_PROGRAM = ("click", "mmh3", "pydantic", "pydantic_core", "rich", "typer")


def load_extra(module: str, extra: str, purpose: str) -> Any:
    """Import a module of an optional package.

    Raises
    ------
    ConfigurationError
        The package is missing; the message names the extra that installs it.
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise _missing(package, extra, purpose) from error


def check_extra(package: str, extra: str, purpose: str) -> None:
    """Check that an optional package is installed, without importing it.

    Raises
    ------
    ConfigurationError
        The package is missing; the message names the extra that installs it.
    """
    try:
        found = importlib.util.find_spec(package)
    except ImportError:
        found = None
    if found is None:
        raise _missing(package, extra, purpose)


def named_extra(error: ModuleNotFoundError, purpose: str) -> Exception:
    """Return an error that names the extra with a missing package; `error` if no extra has it.

    Examples
    --------
    >>> named_extra(ModuleNotFoundError("No module named 'rich'", name="rich.table"), "evenkey run")
    ConfigurationError("evenkey run needs the package rich, ...: pip install 'evenkey[cli]'")
    """
    package = (error.name or "").partition(".")[0]
    if package == "shapely":
        return _missing(package, "geo", purpose)
    if package in _OF_THE_PROGRAM:
        return _missing(package, "cli", purpose)
    return error


class Extra:
    """A stand-in for a module of an optional package; the module is imported at the first use.

    Parameters
    ----------
    module, extra, purpose
        As for `load_extra`, which is called at the first use and raises an error if the package is
        missing.
    """

    def __init__(self, module: str, extra: str, purpose: str) -> None:
        self._needed = (module, extra, purpose)

    def __getattr__(self, name: str) -> Any:
        """Return an attribute of the module, and keep it."""
        if name.startswith("_"):
            raise AttributeError(name)
        value = getattr(load_extra(*self._needed), name)
        setattr(self, name, value)
        return value


def _missing(package: str, extra: str, purpose: str) -> ConfigurationError:
    message = (
        f"{purpose} needs the package {package}, which is not installed: "
        f"pip install 'evenkey[{extra}]'"
    )
    return ConfigurationError(message)
