"""Names of input formats (values of the option ``split``), and the format of each file suffix."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.compressed import bare_name
from evenkey.core.streams.files import find_files
from evenkey.core.streams.formats import FORMATS
from evenkey.core.streams.splits import Lines

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import TypeAlias

# A type checker does not know the names of the formats, which are found at import.
if TYPE_CHECKING:
    SplitName: TypeAlias = str
else:
    SplitName = Literal[tuple(FORMATS)]


def split_of_suffix(file: Path) -> SplitName:
    """Return the input format of a file by its suffix; a suffix of compression is ignored.

    Examples
    --------
    >>> from pathlib import Path
    >>> split_of_suffix(Path("messages.jsonl.gz")), split_of_suffix(Path("messages.txt"))
    ('json', 'lines')
    """
    found = FORMATS.by_suffix.get(Path(bare_name(file)).suffix.lower())
    return Lines.name if found is None else found.name


def split_of(paths: Sequence[Path]) -> SplitName:
    """Return the input format of files by their suffixes.

    Raises
    ------
    ConfigurationError
        A path names no file, or the files have different formats.
    """
    files = find_files(paths)
    splits = sorted({split_of_suffix(file) for file in files})
    if len(splits) > 1:
        message = f"the input has files of several kinds ({', '.join(splits)}): pass split"
        raise ConfigurationError(message)
    return splits[0]


def check_input(paths: Sequence[Path]) -> None:
    """Check that an input exists, can be read and is not empty.

    Raises
    ------
    ConfigurationError
        A path names no file or cannot be read, or all files are empty.
    """
    files = find_files(paths)
    for file in files:
        if not os.access(file, os.R_OK):
            message = f"input {file} cannot be read: check its permissions"
            raise ConfigurationError(message)
    if not any(file.stat().st_size for file in files):
        message = f"input {', '.join(map(str, paths))} is empty: name a file with messages"
        raise ConfigurationError(message)
