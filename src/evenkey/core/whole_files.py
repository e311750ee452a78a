"""Writing files whole or not at all, where others may read or write them meanwhile."""

from __future__ import annotations

import contextlib
import os
import uuid
from hashlib import blake2b
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DIGEST_BYTES = 16


def check_format(path: str, found: object, reads: int, way_out: str) -> None:
    """Refuse an object that another version of evenkey wrote.

    Parameters
    ----------
    path
        Where it lies.
    found
        The number of its format; None: it has none, as objects of the first versions.
    reads
        The number that this version reads and writes.
    way_out
        What the user can do.

    Raises
    ------
    ConfigurationError
        The numbers differ.

    Examples
    --------
    >>> check_format("plan", None, 2, "pass a new state")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    evenkey.core.errors.ConfigurationError: plan is of format 1 and this version of ...
    """
    number = 1 if found is None else found
    if number == reads:
        return
    which = "an earlier" if isinstance(number, int) and number < reads else "another"
    message = (
        f"{path} is of format {number} and this version of evenkey reads {reads}: {which} version "
        f"wrote it; {way_out}"
    )
    raise ConfigurationError(message)


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Give a path to write to; the written file replaces `path` at the end.

    Nobody ever sees a part of it, and nothing is left of it where the writing fails.

    Parameters
    ----------
    path
        In a directory that is there.
    durable
        Whether the file must be on the disk before this returns, so that it survives a sudden stop
        of the machine. Costs some milliseconds.

    Yields
    ------
    Path
        Beside `path`, with a name that no other writer has and that begins with a dot.

    Raises
    ------
    OSError
        It cannot be written.
    """
    temporary = _beside(path)
    try:
        yield temporary
        if durable:
            _sync(temporary)
        temporary.replace(path)
        if durable:
            _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)


def write_whole(path: Path, content: bytes, *, durable: bool = False) -> None:
    """Write a file as `replacing` does."""
    with replacing(path, durable=durable) as temporary:
        temporary.write_bytes(content)


def create_whole(path: Path, content: bytes, *, durable: bool = False) -> bool:
    """Write a file unless it is there, and say whether this call wrote it.

    Of several processes that create the same file exactly one succeeds, however long each of them
    waits before it does, and nobody ever sees a part of it.

    Parameters
    ----------
    path
        In a directory that is there, on a file system with hard links.
    content
        All of it.
    durable
        As for `replacing`.

    Raises
    ------
    OSError
        It cannot be written.
    """
    temporary = _beside(path)
    try:
        temporary.write_bytes(content)
        if durable:
            _sync(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            # A server that did it, and whose answer was lost, refuses when it is asked again.
            return temporary.stat().st_nlink > 1
        if durable:
            _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def digest_of(content: bytes | memoryview) -> str:
    """Give the digest by which changed content is found: BLAKE2b, 128 bits."""
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def sealed(content: bytes) -> bytes:
    """Put the digest of a content behind it, as a last line.

    Examples
    --------
    >>> unsealed(sealed(b"ten messages"))
    b'ten messages'
    """
    return content + b"\n" + digest_of(content).encode()


def unsealed(data: bytes) -> bytes:
    """Give the content that was sealed.

    Raises
    ------
    ValueError
        It is not as it was sealed.
    """
    content, _, digest = data.rpartition(b"\n")
    if digest_of(content).encode() != digest:
        message = "it was cut short or changed after it was written"
        raise ValueError(message)
    return content


def _beside(path: Path) -> Path:
    # Not from `tempfile`, whose files nobody but their owner may read.
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
