"""Decompress Spark's event logs: zstd, gzip, lz4 and snappy, the last two in Spark's framing."""

from __future__ import annotations

import errno
import os
import stat
import struct
from typing import TYPE_CHECKING, BinaryIO

import pyarrow as pa

from evenkey.reports.diagnosis.reading import limits

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_CHUNK_BYTES = 1 << 18

_LZ4_MAGIC = b"LZ4Block"
_LZ4_HEADER = struct.Struct("<8sBiii")  # magic, token, packed bytes, unpacked bytes, checksum
_LZ4_STORED = 0x10

_SNAPPY_MAGIC = b"\x82SNAPPY\x00"
_SNAPPY_VERSIONS_BYTES = 8
_SNAPPY_LENGTH = struct.Struct(">i")


class CutError(Exception):
    """The compressed data ends early, or is corrupt from some point on."""


def unpacked(file: Path, on_read: Callable[[int], object] = lambda _: None) -> Iterator[bytes]:
    """Yield the decompressed content of a file in chunks; its suffix determines the codec.

    Before each chunk, `on_read` is called with the number of compressed bytes read so far.

    The known suffixes are those of Spark (``.zstd``, ``.lz4``, ``.snappy``) and of common tools
    (``.zst``, ``.gz``). A log that is still being written has a second suffix, ``.inprogress``.

    Raises
    ------
    CutError
        The file ends early, for example because its application was killed. All chunks before the
        end are yielded first.
    OSError
        The file cannot be read, or is not a regular file.
    """
    with opened(file) as packed:
        for chunk in _CODECS.get(ending(file), _plain)(packed):
            on_read(packed.tell())
            yield chunk


def opened(file: Path) -> BinaryIO:
    """Open a file for reading; reject pipes and devices, because reading them could never end.

    Raises
    ------
    OSError
        The file cannot be opened, or is not a regular file.
    """
    # Without O_NONBLOCK, opening a pipe would wait for a writer.
    number = os.open(file, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise OSError(errno.EINVAL, "not a regular file", str(file))
    return os.fdopen(number, "rb")


def ending(file: Path) -> str:
    """Return the suffix that names the codec of a file; suffixes for its state are ignored.

    Examples
    --------
    >>> from pathlib import Path
    >>> ending(Path("events_1_local-17.zstd.inprogress")), ending(Path("events_3_local-17.compact"))
    ('.zstd', '.events_3_local-17')
    """
    name = file.name
    for state in (".inprogress", ".compact"):
        name = name.removesuffix(state)
    return "." + name.rpartition(".")[2].lower()


def _plain(packed: BinaryIO) -> Iterator[bytes]:
    while chunk := packed.read(_CHUNK_BYTES):
        yield chunk


def _streamed(codec: str) -> Callable[[BinaryIO], Iterator[bytes]]:
    def chunks(packed: BinaryIO) -> Iterator[bytes]:
        length = 0
        try:
            with _content(packed, codec) as content:
                while chunk := content.read(_CHUNK_BYTES):
                    length += len(chunk)
                    yield chunk
        except _FAILED as error:
            if _is_of_disk(error):
                raise
            yield from _rest(packed, codec, length)
            raise CutError from error

    return chunks


_FAILED = (OSError, MemoryError)


def _is_of_disk(error: BaseException) -> bool:
    return getattr(error, "errno", None) is not None  # codecs set no errno


def _rest(packed: BinaryIO, codec: str, length: int) -> Iterator[bytes]:
    """Yield what can be decompressed of a damaged file, after the first `length` bytes.

    A read that fails drops all bytes that it has decompressed. So the file is read once more to
    the same place, and from there byte by byte.
    """
    packed.seek(0)
    rest = bytearray()
    try:
        with _content(packed, codec) as content:
            while length and (chunk := content.read(min(length, _CHUNK_BYTES))):
                length -= len(chunk)
                yield b""  # the caller can stop if it takes too long
            while byte := content.read(1):
                rest += byte
    except _FAILED as error:
        if _is_of_disk(error):
            raise
    yield bytes(rest)


def _content(packed: BinaryIO, codec: str) -> pa.CompressedInputStream:
    return pa.CompressedInputStream(pa.PythonFile(_KeptOpen(packed), "r"), codec)


class _KeptOpen:
    """A file that Arrow reads and does not close."""

    closed = False

    def __init__(self, file: BinaryIO) -> None:
        self.read = file.read

    def close(self) -> None:
        """Do nothing: the caller closes the file."""


def _lz4(packed: BinaryIO) -> Iterator[bytes]:
    while header := packed.read(_LZ4_HEADER.size):
        if len(header) < _LZ4_HEADER.size or not header.startswith(_LZ4_MAGIC):
            raise CutError
        _, token, packed_bytes, unpacked_bytes, _ = _LZ4_HEADER.unpack(header)
        block = _exactly(packed, packed_bytes)
        if token & 0xF0 == _LZ4_STORED:
            yield block
        elif unpacked_bytes:
            yield _block(block, unpacked_bytes, "lz4_raw")


def _snappy(packed: BinaryIO) -> Iterator[bytes]:
    if packed.read(len(_SNAPPY_MAGIC)) != _SNAPPY_MAGIC:
        raise CutError
    _exactly(packed, _SNAPPY_VERSIONS_BYTES)
    while length := packed.read(_SNAPPY_LENGTH.size):
        if len(length) < _SNAPPY_LENGTH.size:
            raise CutError
        block = _exactly(packed, _SNAPPY_LENGTH.unpack(length)[0])
        yield _block(block, _varint(block), "snappy")


def _exactly(packed: BinaryIO, length: int) -> bytes:
    block = packed.read(length) if 0 <= length <= limits.BLOCK_BYTES else b""
    if len(block) != length:
        raise CutError
    return block


def _block(block: bytes, length: int, codec: str) -> bytes:
    if not 0 <= length <= limits.BLOCK_BYTES:
        raise CutError
    try:
        return bytes(pa.decompress(block, length, codec, asbytes=True))
    except (OSError, ValueError) as error:
        raise CutError from error


def _varint(block: bytes) -> int:
    """Read the length at the start of a snappy block: seven bits per byte, lowest bits first."""
    value = 0
    for place, byte in enumerate(block[:5]):
        value |= (byte & 0x7F) << (7 * place)
        if byte < 0x80:  # noqa: PLR2004 - the bit that says that more follow
            return value
    raise CutError


_CODECS: dict[str, Callable[[BinaryIO], Iterator[bytes]]] = {
    ".zstd": _streamed("zstd"),
    ".zst": _streamed("zstd"),
    ".gz": _streamed("gzip"),
    ".lz4": _lz4,
    ".snappy": _snappy,
}
