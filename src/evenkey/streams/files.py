"""Lines of text files by number: any range of lines of many files, found by seeking."""

from __future__ import annotations

import glob
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenkey.errors import ConfigurationError, RunError

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

__all__ = ["LineIndex", "find_files"]

_BLOCK_LINES = 256
_CHUNK_BYTES = 1 << 23


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """Find the files that paths name: files, directories (all files in them), globs.

    Returns
    -------
    list
        Absolute paths; what one path stands for is sorted.

    Raises
    ------
    ConfigurationError
        A path names nothing; the message says which.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        if path.is_dir():
            files = sorted(each for each in path.rglob("*") if each.is_file())
        elif path.exists():
            files = [path]
        else:
            files = sorted(Path(each) for each in glob.glob(str(path), recursive=True))
            files = [each for each in files if each.is_file()]
        if not files:
            what = "a directory without files" if path.is_dir() else "not there"
            message = f"input {path} is {what}: name a file, a directory of files or a glob"
            raise ConfigurationError(message)
        found += (file.absolute() for file in files)
    return found


@dataclass(frozen=True)
class LineIndex:
    """Where the lines of some files begin, every 256th of them.

    Lines are numbered from 0 through all files in order. A line ends with a line feed
    (a carriage return before it belongs to the line end) or with its file; an empty line is
    a line.

    Parameters
    ----------
    files
        Absolute paths.
    sizes
        Bytes of each file when it was indexed; a file that changed since is refused.
    skipped
        Bytes left out at the start of each file, such as its header line.
    lines
        How many lines there are.
    starts
        int64[blocks, 2]: number of the file, and byte offset, at which line ``256 * block``
        begins.
    """

    files: tuple[str, ...]
    sizes: tuple[int, ...]
    skipped: tuple[int, ...]
    lines: int
    starts: NDArray[np.int64]

    @classmethod
    def build(cls, paths: Sequence[str | Path], *, header: bool = False) -> LineIndex:
        """Index the lines of files, in one pass over their bytes.

        Parameters
        ----------
        paths
            As `find_files` gives them.
        header
            Whether the first line of each file is a header, which is left out.

        Raises
        ------
        ConfigurationError
            A file cannot be read, or there is no line at all.
        """
        starts: list[NDArray[np.int64]] = []
        sizes, skipped, lines = [], [], 0
        for number, path in enumerate(paths):
            try:
                begins, size, skip = _line_starts(Path(path), header=header)
            except OSError as error:
                message = f"input {path} cannot be read ({error.strerror}): check its permissions"
                raise ConfigurationError(message) from error
            chosen = begins[-lines % _BLOCK_LINES :: _BLOCK_LINES]
            starts.append(np.column_stack((np.full(len(chosen), number), chosen)))
            lines += len(begins)
            sizes.append(size)
            skipped.append(skip)
        if not lines:
            message = f"input {', '.join(map(str, paths))} holds no line: name a file with messages"
            raise ConfigurationError(message)
        files = tuple(map(str, paths))
        return cls(files, tuple(sizes), tuple(skipped), lines, np.concatenate(starts))

    def read(self, start: int, stop: int) -> pa.BinaryArray:
        """Read lines `start` to `stop` - 1, without their line ends, as bytes.

        Raises
        ------
        RunError
            A file is gone, or is not of the size any more that it was indexed with.
        """
        stop = min(stop, self.lines)
        if stop <= start:
            return pa.array([], pa.binary())
        block = start // _BLOCK_LINES
        file, offset = (int(each) for each in self.starts[block])
        ahead = start - block * _BLOCK_LINES
        lines: list[bytes] = []
        while len(lines) < ahead + stop - start:
            lines += self._rest(file, offset, self._end(file, stop))
            file += 1
            offset = self.skipped[file] if file < len(self.files) else 0
        return pa.array(lines[ahead : ahead + stop - start], pa.binary())

    def header(self, file: int = 0) -> bytes:
        """The header line that was left out of a file."""
        return self._bytes(file, 0, self.skipped[file]).rstrip(b"\r\n")

    def _end(self, file: int, stop: int) -> int:
        """A byte offset in a file behind line `stop` - 1, as near as the index knows."""
        block = -(-stop // _BLOCK_LINES)
        if block < len(self.starts) and self.starts[block, 0] == file:
            return int(self.starts[block, 1])
        return self.sizes[file]

    def _rest(self, file: int, offset: int, end: int) -> list[bytes]:
        if end <= offset:
            return []
        lines = self._bytes(file, offset, end).split(b"\n")
        if not lines[-1]:
            lines.pop()
        return [line.removesuffix(b"\r") for line in lines]

    def _bytes(self, file: int, offset: int, end: int) -> bytes:
        path = Path(self.files[file])
        try:
            if path.stat().st_size == self.sizes[file]:
                with path.open("rb") as opened:
                    opened.seek(offset)
                    return opened.read(end - offset)
            why = "has changed since the run began"
        except OSError as error:
            why = f"cannot be read any more ({error.strerror})"
        message = f"input {path} {why}: put it back as it was, or start again with a new output"
        raise RunError(message)


def _line_starts(path: Path, *, header: bool) -> tuple[NDArray[np.int64], int, int]:
    """Byte offset of each line, size of the file, bytes of its header."""
    ends = [np.zeros(1, dtype=np.int64)]
    size = 0
    with path.open("rb") as file:
        while chunk := file.read(_CHUNK_BYTES):
            feeds = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord("\n"))
            ends.append(feeds + size + 1)
            size += len(chunk)
    starts = np.concatenate(ends)
    starts = starts[starts < size]
    if header and len(starts):
        return starts[1:], size, int(starts[1]) if len(starts) > 1 else size
    return starts, size, 0
