"""Writing files completely or not at all, while other processes may read or write them."""

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
    """Check that a stored object has the format that this version of evenkey reads.

    Parameters
    ----------
    path
        Path of the object.
    found
        Number of its format. None: it states no number, as objects of the first versions did.
    reads
        Number of the format that this version reads and writes.
    way_out
        What the user can do, for the message.

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
    """Yield a path to write to; the written file replaces `path` at the end.

    No reader ever sees a part of the file, and nothing is left of it if writing fails.

    Parameters
    ----------
    path
        File to replace, in a directory that exists.
    durable
        Whether the file must be on the disk before this returns, so that it survives a sudden stop
        of the machine. Costs some milliseconds.

    Yields
    ------
    Path
        A path in the same directory. Its name begins with a dot, and no other writer has it.

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

    Of several processes that create the same file, exactly one succeeds, however slow each of them
    is. No reader ever sees a part of the file.

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
            # A file server made the link but its answer was lost, so the call was repeated and
            # refused. Then the temporary file has two links.
            return temporary.stat().st_nlink > 1
        if durable:
            _sync(path.parent)
    finally:
        temporary.unlink(missing_ok=True)
    return True


def digest_of(content: bytes | memoryview) -> str:
    """Return the digest by which changed content is detected: BLAKE2b, 128 bits."""
    return blake2b(content, digest_size=_DIGEST_BYTES).hexdigest()


def sealed(content: bytes) -> bytes:
    """Append the digest of a content as a last line.

    Examples
    --------
    >>> unsealed(sealed(b"ten messages"))
    b'ten messages'
    """
    return content + b"\n" + digest_of(content).encode()


def unsealed(data: bytes) -> bytes:
    """Return the content that `sealed` got, after a check of its digest.

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
    # Not from `tempfile`: only the owner may read its files.
    return path.with_name(f".{path.name}.{uuid.uuid4().hex}")


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
