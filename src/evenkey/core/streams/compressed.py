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
    """Return the name of a file without the suffix of its compression.

    Examples
    --------
    >>> bare_name(Path("requests.csv.gz")), bare_name(Path("requests.csv"))
    ('requests.csv', 'requests.csv')
    """
    return file.stem if file.suffix.lower() in _CODECS else file.name


def unpack(files: Sequence[Path], directory: Path) -> list[Path]:
    """Unpack the files that are compressed: ``.gz``, ``.bz2``, ``.zst``, ``.zstd``.

    A compressed file can only be read from its start. In an unpacked file, lines can be read in
    any order and repeatedly, by seeking. See docs/decisions/013-compressed-input.md.

    Parameters
    ----------
    files
        Files, compressed or not.
    directory
        Directory for the unpacked files; it is made when it is needed.

    Returns
    -------
    list
        For each file, the path of its unpacked version, or the file itself if it is not compressed.

    Raises
    ------
    ConfigurationError
        A file cannot be read, is not of the format that its name says, is cut off or corrupt; or
        there is no space for its contents.
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
        if error.errno is not None:  # an error of the disk; errors of a codec have no number
            message = (
                f"input {file} cannot be unpacked to {target.parent} ({error.strerror}): check the "
                "space and the permissions there"
            )
        else:
            message = f"input {file} is not a complete {codec} file ({error}): fetch it again"
        raise ConfigurationError(message) from error
    return target
