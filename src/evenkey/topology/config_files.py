"""Files that a configuration names: the TOML file itself, its input, its output."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from evenkey.errors import ConfigurationError
from evenkey.streams.compressed import bare_name
from evenkey.streams.files import find_files

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Split", "check_input", "check_output", "read_toml", "split_of", "split_of_suffix"]

Split = Literal[
    "words",
    "lines",
    "csv",
    "json",
    "parquet",
    "country",
    "edges",
    "twitter-election",
    "twitter-ticker",
    "wikipedia-clickstream",
    "wikipedia-pageviews",
    "wikipedia-pageviews-by-lang",
]

_SPLIT_OF_SUFFIX: dict[str, Split] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".ndjson": "json",
    ".parquet": "parquet",
}


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


def split_of_suffix(file: Path) -> Split:
    """Say how a file is split, by its suffix; one that says how it is compressed is left out.

    Examples
    --------
    >>> from pathlib import Path
    >>> split_of_suffix(Path("messages.jsonl.gz")), split_of_suffix(Path("messages.txt"))
    ('json', 'lines')
    """
    return _SPLIT_OF_SUFFIX.get(Path(bare_name(file)).suffix.lower(), "lines")


def split_of(paths: Sequence[Path]) -> Split:
    """Say how files are split, by their suffixes.

    Raises
    ------
    ConfigurationError
        A path names nothing, or the files are of several kinds.
    """
    files = find_files(paths)
    splits = sorted({split_of_suffix(file) for file in files})
    if len(splits) > 1:
        message = f"the input has files of several kinds ({', '.join(splits)}): pass split"
        raise ConfigurationError(message)
    return splits[0]


def check_input(paths: Sequence[Path]) -> None:
    """Make sure that an input is there, can be read and holds something.

    Raises
    ------
    ConfigurationError
        A path names nothing or cannot be read, or all files are empty.
    """
    files = find_files(paths)
    for file in files:
        if not os.access(file, os.R_OK):
            message = f"input {file} cannot be read: check its permissions"
            raise ConfigurationError(message)
    if not any(file.stat().st_size for file in files):
        message = f"input {', '.join(map(str, paths))} is empty: name a file with messages"
        raise ConfigurationError(message)


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
