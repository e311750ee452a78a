"""Read the TOML file of a configuration, and check the output that it names."""

from __future__ import annotations

import contextlib
import errno
import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.core.stores import scheme_of, store_at

if TYPE_CHECKING:
    from collections.abc import Iterable


def read_toml(file: Path) -> dict[str, Any]:
    """Read options from a TOML file; dashes in their names become underscores.

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


def check_output(output: Path | str) -> None:
    """Check that an output is, or can become, a writable directory.

    Parameters
    ----------
    output
        A path or a URI; only the scheme of a URI is checked.

    Raises
    ------
    ConfigurationError
        The output is a file or inside a file, permissions forbid writing, or no store has the
        scheme.
    """
    if scheme_of(output) != "file":
        store_at(output)
        return
    output = Path(output).absolute()
    existing = next(path for path in (output, *output.parents) if path.exists())
    if not existing.is_dir():
        message = f"output {output} cannot be a directory: {existing} is a file; choose another"
        raise ConfigurationError(message)
    if not os.access(existing, os.W_OK | os.X_OK):
        reason = os.strerror(errno.EACCES)
        with contextlib.suppress(OSError):
            if os.statvfs(existing).f_flag & os.ST_RDONLY:
                reason = os.strerror(errno.EROFS)
        message = f"output {output} cannot be written ({reason}): choose another directory"
        raise ConfigurationError(message)


def check_outside(output: Path | str | None, inputs: Iterable[Path | str]) -> None:
    """Check that a run does not write into its input.

    Parameters
    ----------
    output
        The path of the output. None or a URI: nothing is checked, because the output is outside of
        all input files.
    inputs
        Files, directories and globs.

    Raises
    ------
    ConfigurationError
        The output is an input, or inside an input.
    """
    if output is None or scheme_of(output) != "file":
        return
    place = Path(output).resolve()
    for each in inputs:
        read = Path(each).resolve()
        if any(above == read or above.match(str(read)) for above in (place, *place.parents)):
            message = (
                f"output {output} is inside the input {each} and would be read as input: choose a "
                "directory elsewhere"
            )
            raise ConfigurationError(message)
