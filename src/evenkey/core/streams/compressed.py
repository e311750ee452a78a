"""Compressed files, unpacked once so that their lines can be read by number."""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from evenkey.core.errors import ConfigurationError

if TYPE_CHECKING:
    from collections.abc import Sequence

_CHUNK_BYTES = 1 << 20
_CODECS = {".gz": "gzip", ".bz2": "bz2", ".zst": "zstd", ".zstd": "zstd"}


def bare_name(file: Path) -> str:
    """Give a file's name without the ending that says how it is compressed.

    Examples
    --------
    >>> bare_name(Path("requests.csv.gz")), bare_name(Path("requests.csv"))
    ('requests.csv', 'requests.csv')
    """
    return file.stem if file.suffix.lower() in _CODECS else file.name


def unpack(files: Sequence[Path], directory: Path) -> list[Path]:
    """Unpack those files that are compressed: ``.gz``, ``.bz2``, ``.zst``, ``.zstd``.

    A compressed stream can only be read from its start; any line of what was unpacked is read
    by seeking, again and again. See docs/decisions/013-compressed-input.md.

    Parameters
    ----------
    files
        Any files.
    directory
        Where unpacked ones go; made when it is needed.

    Returns
    -------
    list
        For each file its unpacked version, or itself if it is not compressed.

    Raises
    ------
    ConfigurationError
        A file cannot be read, is not what its name says, is cut off or damaged; or there is no
        space for its contents.
    """
    return [
        _unpack(file, directory / f"{number}-{bare_name(file)}")
        if file.suffix.lower() in _CODECS
        else file
        for number, file in enumerate(files)
    ]


def _unpack(file: Path, target: Path) -> Path:
    try:
        packed = file.open("rb")
    except OSError as error:
        message = f"input {file} cannot be read ({error.strerror}): check its permissions"
        raise ConfigurationError(message) from error
    codec = _CODECS[file.suffix.lower()]
    target.parent.mkdir(parents=True, exist_ok=True)
    descriptor, name = tempfile.mkstemp(dir=target.parent)
    try:
        with (
            packed,
            os.fdopen(descriptor, "wb") as unpacked,
            pa.CompressedInputStream(pa.PythonFile(packed), codec) as content,
        ):
            shutil.copyfileobj(content, unpacked, _CHUNK_BYTES)
        Path(name).replace(target)
    except OSError as error:
        Path(name).unlink()
        if error.errno is not None:  # the disk's; the codec's have no number
            message = f"input {file} cannot be unpacked to {target.parent} ({error.strerror})"
        else:
            message = f"input {file} is no complete {codec} file ({error}): fetch it again"
        raise ConfigurationError(message) from error
    return target
