"""Writing files whole or not at all, where others may read them meanwhile."""

from __future__ import annotations

import contextlib
import os
import uuid
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["replacing", "write_whole"]


@contextlib.contextmanager
def replacing(path: Path, *, durable: bool = False) -> Iterator[Path]:
    """Give a path to write to; what was written takes the place of `path` at the end.

    Nobody ever sees a part of it, and nothing is left of it where the writing fails.

    Parameters
    ----------
    path
        In a directory that is there.
    durable
        Whether the file must be on the disk before this returns, so that it survives a machine
        that stops at once. Costs some milliseconds.

    Yields
    ------
    Path
        Beside `path`, with a name that no other writer has and that begins with a dot.

    Raises
    ------
    OSError
        It cannot be written.
    """
    # Not from `tempfile`, whose files nobody but their owner may read.
    temporary = path.with_name(f".{path.name}.{uuid.uuid4().hex}")
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


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
