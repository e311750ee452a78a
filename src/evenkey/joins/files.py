"""Small files that many processes read and one writes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey import files
from evenkey.errors import RunError

if TYPE_CHECKING:
    from pathlib import Path


def write_file(path: Path, content: bytes) -> None:
    """Write a file whole or not at all; its directory is made where it is not there.

    Raises
    ------
    RunError
        It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_whole(path, content)
    except OSError as error:
        raise _unwritable(path, error) from error


def claim(path: Path, content: bytes) -> bool:
    """Write a file unless it is there, and say whether this call wrote it.

    Of several processes that claim the same file at the same time exactly one succeeds, and
    nobody ever sees a part of it.

    Raises
    ------
    RunError
        It cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return files.create_whole(path, content)
    except OSError as error:
        raise _unwritable(path, error) from error


def _unwritable(path: Path, error: OSError) -> RunError:
    return RunError(f"{path} cannot be written ({error}): free or choose a directory")
