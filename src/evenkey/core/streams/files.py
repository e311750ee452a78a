"""Read lines of text files by number: any range of the lines of many files, by seeking."""

from __future__ import annotations

import glob
from csv import Error as CsvError
from dataclasses import dataclass
from hashlib import blake2b
from itertools import pairwise
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pyarrow as pa

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.core.streams.splits import CsvRecords

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

_BLOCK_LINES = 256
_CHUNK_BYTES = 1 << 23
_DIGEST_BYTES = 8
_CHANGED = "has changed since the run began"
_CARRIAGE_RETURN = b"\r"
_FIRST_BYTES = 1 << 23
_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_SPARK_FILES = ("_SUCCESS", "_metadata", "_common_metadata")
_SPARK_DIRECTORIES = ("_spark_metadata", "_temporary")


def find_files(paths: Iterable[str | Path]) -> list[Path]:
    """Find the files of paths; a path names a file, a directory (all files in it) or a glob.

    In directories, hidden files and the metadata files of Spark are left out.

    Returns
    -------
    list
        Absolute paths; the files that one path names are sorted.

    Raises
    ------
    ConfigurationError
        A path names no file or cannot be read. The message contains the path.
    """
    found: list[Path] = []
    for path in map(Path, paths):
        try:
            named = [path] if path.exists() else sorted(map(Path, _glob(path)))
            files = [file for each in named for file in _files_under(each)]
        except OSError as error:
            message = f"input {path} cannot be read ({error.strerror}): check its permissions"
            raise ConfigurationError(message) from error
        if not files:
            what = "holds no file" if named else "is not there"
            message = f"input {path} {what}: name a file, a directory of files or a glob"
            raise ConfigurationError(message)
        found += (file.absolute() for file in files)
    return found


def _glob(pattern: Path) -> list[str]:
    # Path.glob takes no absolute pattern, and its * also matches hidden files.
    return glob.glob(str(pattern), recursive=True)  # noqa: PTH207


def _files_under(path: Path) -> list[Path]:
    if path.is_dir():
        return sorted(each for each in path.rglob("*") if _counts(each, path) and each.is_file())
    return [path]


def _counts(file: Path, directory: Path) -> bool:
    """Return whether a file in a directory is a data file, judging by its path."""
    *directories, name = file.relative_to(directory).parts
    hidden = any(part.startswith(".") for part in (*directories, name))
    return not (
        hidden or name in _SPARK_FILES or any(each in _SPARK_DIRECTORIES for each in directories)
    )


@dataclass(frozen=True, eq=False)
class LineIndex:
    """An index of the lines of files: where every 256th line begins.

    Lines are numbered from 0 through all files in order. A line ends with a line feed or at the end
    of its file. A carriage return before the line feed belongs to the line end. In a file without
    line feeds, a line ends with a carriage return. An empty line counts as a line. A byte order
    mark at the start of a file is left out. In CSV files, each record counts as one line, although
    its quoted fields may contain line ends (see `record_ends`).

    Parameters
    ----------
    files
        Absolute paths.
    sizes
        Size of each file in bytes when it was indexed. Reading a file of another size raises an
        error.
    skipped
        Number of bytes left out at the start of each file, such as its header line.
    line_ends
        Line end of each file: a line feed, or a carriage return.
    widths
        Number of fields of a record, for each file in which a record has several lines; 0 for each
        other file.
    lines
        Number of lines of all files.
    starts
        int64[blocks, 2], where line ``256 * block`` begins: number of the file, and byte offset.
    segments
        int64[segments, 2], where each segment begins: number of the file, and byte offset. A new
        segment begins with each file and at each offset in `starts`.
    digests
        uint64[segments], BLAKE2b of each segment. Reading a segment that has changed since it was
        indexed raises an error.
    """

    files: tuple[str, ...]
    sizes: tuple[int, ...]
    skipped: tuple[int, ...]
    line_ends: tuple[str, ...]
    widths: tuple[int, ...]
    lines: int
    starts: NDArray[np.int64]
    segments: NDArray[np.int64]
    digests: NDArray[np.uint64]

    @classmethod
    def build(
        cls, paths: Sequence[str | Path], *, csv: bool = False, may_be_empty: bool = False
    ) -> LineIndex:
        """Index the lines of files, in one pass over their bytes.

        Parameters
        ----------
        paths
            Paths as `find_files` returns them.
        csv
            Whether the files are CSV. The first record of a CSV file is a header, which is left
            out.
        may_be_empty
            Whether files without any line are allowed.

        Raises
        ------
        ConfigurationError
            A file cannot be read, or there is no line and `may_be_empty` is False.
        """
        scans: list[_Scan] = []
        lines = 0
        for path in paths:
            try:
                scans.append(_scan(Path(path), lines, csv=csv))
            except OSError as error:
                message = f"input {path} cannot be read ({error.strerror}): check its permissions"
                raise ConfigurationError(message) from error
            lines += scans[-1].lines
        if not lines and not may_be_empty:
            message = f"input {', '.join(map(str, paths))} holds no line: name a file with messages"
            raise ConfigurationError(message)
        return cls(
            tuple(map(str, paths)),
            tuple(each.size for each in scans),
            tuple(each.skipped for each in scans),
            tuple(each.line_end.decode() for each in scans),
            tuple(each.width for each in scans),
            lines,
            np.concatenate([_numbered(file, each.starts) for file, each in enumerate(scans)]),
            np.concatenate([_numbered(file, each.segments) for file, each in enumerate(scans)]),
            np.concatenate([np.frombuffer(each.digests, np.uint64) for each in scans]),
        )

    def read(self, start: int, stop: int) -> pa.BinaryArray:
        """Read lines `start` to `stop` - 1, without their line ends, as bytes.

        Raises
        ------
        RunError
            A file is missing, or has changed since it was indexed.
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

    @property
    def has_long_records(self) -> bool:
        """Whether any record has several lines."""
        return any(self.widths)

    def header(self, file: int = 0) -> bytes:
        """Return the header of a file, which was left out of the lines."""
        return self._read(file, 0, self.skipped[file]).rstrip(b"\r\n")

    def _end(self, file: int, stop: int) -> int:
        """Return the nearest byte offset in the index that is after line `stop` - 1 of a file."""
        block = -(-stop // _BLOCK_LINES)
        if block < len(self.starts) and self.starts[block, 0] == file:
            return int(self.starts[block, 1])
        return self.sizes[file]

    def _rest(self, file: int, offset: int, end: int) -> list[bytes]:
        if end <= offset:
            return []
        line_end = self.line_ends[file].encode()
        content = self._bytes(file, offset, end)
        if self.widths[file]:
            ends = record_ends(content, line_end, self.widths[file], last=True).tolist()
            records = (content[begin:end] for begin, end in pairwise([0, *ends]))
            lines = [record.removesuffix(line_end) for record in records]
        else:
            lines = content.split(line_end)
            if not lines[-1]:
                lines.pop()
        return (
            lines if line_end == _CARRIAGE_RETURN else [line.removesuffix(b"\r") for line in lines]
        )

    def _bytes(self, file: int, offset: int, end: int) -> bytes:
        """Read a part of a file, and check the digests of all segments that the part overlaps."""
        low, high = np.searchsorted(self.segments[:, 0], [file, file + 1])
        begins = self.segments[low:high, 1]
        first, last = np.searchsorted(begins, offset, "right") - 1, np.searchsorted(begins, end)
        begin = int(begins[first])
        content = self._read(file, begin, end)
        cuts = [*(begins[first:last] - begin).tolist(), end - begin]
        for piece in range(last - first):
            found = _digest(memoryview(content)[cuts[piece] : cuts[piece + 1]]).digest()
            if found != self.digests[low + first + piece].tobytes():
                raise self._unreadable(file, _CHANGED)
        return content[offset - begin :]

    def _read(self, file: int, offset: int, end: int) -> bytes:
        path = Path(self.files[file])
        try:
            if path.stat().st_size == self.sizes[file]:
                with path.open("rb") as opened:
                    opened.seek(offset)
                    return opened.read(end - offset)
            why = _CHANGED
        except OSError as error:
            here = f"cannot be read any more on host {gethostname()} ({error.strerror})"
            why = f"{here}, and all executors read it under this path"
        raise self._unreadable(file, why)

    def _unreadable(self, file: int, why: str) -> RunError:
        message = f"{why}: restore it, or start again with a new output"
        return RunError(f"input {self.files[file]} {message}")


def record_ends(content: bytes, line_end: bytes, width: int, *, last: bool) -> NDArray[np.int64]:
    r"""Find the ends of CSV records in a piece of a file; the piece begins with a record.

    A quoted field may contain up to 1,000 line ends and up to 1 MiB. A record of several lines is
    invalid if a quote stays open for longer, if something other than a comma or a line end follows
    the closing quote, or if the number of fields is not `width`. Then only the first line of the
    record counts as a record, so that an invalid record does not affect other records. In a field
    that does not begin with a quote, a quote is an ordinary character.

    Parameters
    ----------
    content
        Bytes of the piece.
    line_end
        A line feed, or a carriage return.
    width
        Number of fields of a record; 0: any number.
    last
        Whether the file ends with the piece, so that the last record ends there too.

    Returns
    -------
    int64[n]
        Offset after the line end of each record, for all records whose end is certain.

    Examples
    --------
    >>> record_ends(b'a,"b\nc"\nd', b"\n", 2, last=True).tolist()
    [8, 9]
    >>> record_ends(b'a,"b\nc,d\ne', b"\n", 2, last=True).tolist()
    [5, 9, 10]
    """
    text = np.frombuffer(content, np.uint8)
    ends = np.flatnonzero(text == ord(line_end)) + 1
    if last and content and not content.endswith(line_end):
        ends = np.append(ends, len(content))
    if b'"' not in content:
        return ends
    from evenkey.core.streams._kernels import csv_records

    # `ends` is long enough for the result: there are at most as many records as lines.
    found = csv_records(text, ord(line_end), width, last, ends)
    return ends[:found]


class _Chunk(NamedTuple):
    """Byte offsets at which lines begin; a part of the file's content, and the part's offset."""

    begins: NDArray[np.int64]
    content: bytes | memoryview
    offset: int
    several: bool = False
    """Whether one of the lines is a record that contains line ends."""


class _Scan(NamedTuple):
    """The index of one file: byte offsets of the lines whose number is a multiple of 256.

    Segments begin at these offsets; the first segment begins at the start of the file.
    """

    starts: NDArray[np.int64]
    segments: NDArray[np.int64]
    digests: bytes
    lines: int
    size: int
    skipped: int
    line_end: bytes
    width: int


def _scan(path: Path, first: int, *, csv: bool) -> _Scan:
    """Index a file whose first line has number `first`."""
    size = path.stat().st_size
    line_end = _line_end(path)
    with path.open("rb") as file:
        mark = file.read(len(_BYTE_ORDER_MARK))
        skipped = len(mark) if mark == _BYTE_ORDER_MARK else 0
        pieces, width = _line_starts(path, skipped, size, line_end), 0
        if csv:
            skipped, width = _behind_header(path, skipped, size, line_end)
            pieces = _record_starts(path, skipped, size, line_end, width)
        file.seek(0)
        digest, digests = _digest(file.read(skipped)), []
    kept, lines, several = [np.array([], dtype=np.int64)], 0, False
    for begins, content, offset, together in pieces:
        chosen = begins[-(first + lines) % _BLOCK_LINES :: _BLOCK_LINES]
        kept.append(chosen)
        lines += len(begins)
        several |= together
        done = 0
        for cut in (chosen[chosen > skipped] - offset).tolist():
            digest.update(memoryview(content)[done:cut])
            digests.append(digest.digest())
            digest, done = _digest(b""), cut
        digest.update(memoryview(content)[done:])
    starts = np.concatenate(kept)
    segments = np.concatenate([np.array([0]), starts[starts > skipped]])
    every = b"".join([*digests, digest.digest()])
    return _Scan(starts, segments, every, lines, size, skipped, line_end, width * several)


def _line_end(path: Path) -> bytes:
    """Find the line end that a file uses, from its first megabytes."""
    with path.open("rb") as file:
        start = file.read(_FIRST_BYTES)
    return _CARRIAGE_RETURN if _CARRIAGE_RETURN in start and b"\n" not in start else b"\n"


def _behind_line(path: Path, offset: int, line_end: bytes) -> int:
    """Return the offset after the line that begins at `offset`."""
    with path.open("rb") as file:
        file.seek(offset)
        if line_end == b"\n":
            return offset + len(file.readline())
        while chunk := file.read(_FIRST_BYTES):
            found = chunk.find(line_end)
            if found >= 0:
                return offset + found + 1
            offset += len(chunk)
    return offset


def _behind_header(path: Path, offset: int, size: int, line_end: bytes) -> tuple[int, int]:
    """Return the offset after the header of a CSV file, and the number of fields in the header."""
    behind = _behind_line(path, offset, line_end)
    with path.open("rb") as file:
        file.seek(offset)
        header = file.read(behind - offset)
        if b'"' in header:
            content = header + file.read(_FIRST_BYTES)
            ends = record_ends(content, line_end, 0, last=offset + len(content) >= size)
            header = content[: ends[0]]
    try:
        names = CsvRecords.read_header(header.rstrip(b"\r\n"))
    except CsvError:
        names = ()
    return offset + len(header), len(names)


def _line_starts(path: Path, offset: int, size: int, line_end: bytes) -> Iterator[_Chunk]:
    """Yield the starts of lines, chunk by chunk; the first line begins at `offset`."""
    yield _Chunk(np.array([offset] if offset < size else [], dtype=np.int64), b"", offset)
    with path.open("rb") as file:
        file.seek(offset)
        while offset < size and (chunk := file.read(min(_CHUNK_BYTES, size - offset))):
            feeds = np.flatnonzero(np.frombuffer(chunk, dtype=np.uint8) == ord(line_end))
            begins = feeds + offset + 1
            yield _Chunk(begins[begins < size], chunk, offset)
            offset += len(chunk)


def _record_starts(
    path: Path, offset: int, size: int, line_end: bytes, width: int
) -> Iterator[_Chunk]:
    """Yield the starts of CSV records in chunks of whole records; the first begins at `offset`."""
    yield _Chunk(np.array([offset] if offset < size else [], dtype=np.int64), b"", offset)
    length = _CHUNK_BYTES
    with path.open("rb") as file:
        while offset < size:
            file.seek(offset)
            content = file.read(min(length, size - offset))
            last = len(content) < length or offset + len(content) >= size
            ends = record_ends(content, line_end, width, last=last)
            if not len(ends):
                if last:
                    return
                length *= 2
                continue
            known = int(ends[-1])
            begins = ends + offset
            several = b'"' in content and content.count(line_end, 0, known - 1) >= len(ends)
            yield _Chunk(begins[begins < size], memoryview(content)[:known], offset, several)
            offset, length = offset + known, _CHUNK_BYTES


def _numbered(file: int, offsets: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.column_stack((np.full(len(offsets), file), offsets))


def _digest(content: bytes | memoryview) -> blake2b:
    return blake2b(content, digest_size=_DIGEST_BYTES)
