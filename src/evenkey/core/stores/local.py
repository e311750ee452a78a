"""A store in a directory, on this machine or mounted on all hosts under the same path."""

from __future__ import annotations

import contextlib
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from evenkey.core.stores.base import Store
from evenkey.core.whole_files import create_whole, write_whole

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Self, TypeVar

    Result = TypeVar("Result")


class LocalStore(Store):
    """Files under a directory. The directory is made when the first file is written.

    `create` makes a hard link, which fails if the file exists, so only one process can succeed. On
    a file system without hard links, `create` raises the error of that file system.

    Parameters
    ----------
    directory
        Path of the directory.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)

    @property
    def url(self) -> str:
        """The path of the directory."""
        return str(self.directory)

    def under(self, name: str) -> Self:
        """Return the store of a subdirectory."""
        return type(self)(self.directory / name)

    def read(self, name: str) -> bytes:
        """Read a file."""
        return (self.directory / name).read_bytes()

    def put(self, name: str, content: bytes, *, durable: bool = False) -> None:
        """Write a file under a temporary name, then rename it."""
        file = self.directory / name
        _with_parent(file, lambda: write_whole(file, content, durable=durable))

    def create(self, name: str, content: bytes, *, durable: bool = False) -> bool:
        """Write a file under a temporary name, then link it to `name` unless `name` exists."""
        file = self.directory / name
        return _with_parent(file, lambda: create_whole(file, content, durable=durable))

    def names(self, name: str = "") -> list[str]:
        """Return the sorted names of files under a subdirectory, except files being written."""
        return sorted(self._files(self.directory / name))

    def _files(self, directory: Path) -> list[str]:
        files: list[str] = []
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            for entry in os.scandir(directory):
                if entry.name.startswith("."):
                    continue
                path = Path(entry.path)
                # A linked directory lies elsewhere and is not part of the store.
                if entry.is_dir(follow_symlinks=False):
                    files += self._files(path)
                elif not entry.is_dir():
                    files.append(path.relative_to(self.directory).as_posix())
        return files

    def delete(self, name: str) -> None:
        """Delete a file, then each of its parent directories below the root that is empty."""
        file = self.directory / name
        file.unlink(missing_ok=True)
        for directory in file.parents:
            if directory == self.directory:
                return
            try:
                directory.rmdir()
            except OSError:  # not empty, or another process has deleted it
                return

    def clear(self) -> None:
        """Delete the directory."""
        shutil.rmtree(self.directory, ignore_errors=True)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, LocalStore) and self.directory == other.directory

    def __hash__(self) -> int:
        return hash(self.directory)

    def __repr__(self) -> str:
        return f"LocalStore({self.url!r})"


def _with_parent(file: Path, write: Callable[[], Result]) -> Result:
    """Write a file; make its directory again if another process deletes that directory."""
    for _ in range(_ATTEMPTS):
        file.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):
            return write()
    return write()


_ATTEMPTS = 3
