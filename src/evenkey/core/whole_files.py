"""Writing files completely or not at all, while other processes may read or write them."""

from __future__ import annotations

import contextlib
import os
import tempfile
import uuid
from hashlib import blake2b
from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_DIGEST_BYTES = 16


def check_format(path: str, found: object, reads: int, way_out: str) -> None:
    """Check that a stored object has the format that this version of evenkey reads.

    Parameters
    ----------
    path
        Path of the object.
    found
        Number of the format that the object states. None: the object states no number, as objects
        of the first versions of evenkey did; this means format 1.
    reads
        Number of the format that this version reads and writes.
    way_out
        What the user can do, for the end of the message.

    Raises
    ------
    ConfigurationError
        The object has another format.

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


def try_to_write(directory: Path) -> None:
    """Try whether files can be written into a directory; nothing stays there.

    Raises
    ------
    OSError
        They cannot.
    """
    with tempfile.TemporaryFile(dir=directory, prefix="."):
        pass


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Yield a path to write to; the written file replaces `path` at the end.

    No reader ever sees a part of the file. If writing fails, no part of the file is left.

    Parameters
    ----------
    path
        File to replace, in a directory that exists.
    durable
        Whether the file must be on the disk before this function returns, so that the file survives
        a sudden stop of the machine. True costs some milliseconds.

    Yields
    ------
    Path
        A path in the same directory. Its name begins with a dot, and no other writer uses this
        name.

    Raises
    ------
    OSError
        The file cannot be written.
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
    """Write a file completely or not at all, as `replacing` does."""
    with replacing(path, durable=durable) as temporary:
        temporary.write_bytes(content)


def create_whole(path: Path, content: bytes, *, durable: bool = False) -> bool:
    """Write a file unless it exists; return whether this call wrote it.

    If several processes create the same file, exactly one of them succeeds, however slow the
    processes are. No reader ever sees a part of the file.

    Parameters
    ----------
    path
        File to create, in a directory that exists, on a file system with hard links.
    content
        Content of the file.
    durable
        As for `replacing`.

    Raises
    ------
    OSError
        The file cannot be written.
    """
    temporary = _beside(path)
    try:
        temporary.write_bytes(content)
        if durable:
            _sync(temporary)
        try:
            os.link(temporary, path)
        except FileExistsError:
            # A file server can make the link although its answer gets lost. Then the call is
            # repeated and refused, and the temporary file has two links.
            return temporary.stat().st_nlink > 1
        if durable:
            _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def digest_of(content: bytes | memoryview) -> str:
    """Return a digest (BLAKE2b, 128 bits) by which a change of the content is detected."""
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def sealed(content: bytes) -> bytes:
    """Return a content with its digest as an additional last line.

    Examples
    --------
    >>> unsealed(sealed(b"ten messages"))
    b'ten messages'
    """
    return content + b"\n" + digest_of(content).encode()


def unsealed(data: bytes) -> bytes:
    """Check the digest in the last line of a result of `sealed`, and return the content.

    Raises
    ------
    ValueError
        The content was cut short or changed.
    """
    content, _, digest = data.rpartition(b"\n")
    if digest_of(content).encode() != digest:
        message = "it was cut short or changed after it was written"
        raise ValueError(message)
    return content


def _beside(path: Path) -> Path:
    # `tempfile` is not used, because only the owner may read the files that it makes.
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
