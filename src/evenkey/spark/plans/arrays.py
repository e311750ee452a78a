"""Encode named arrays as bytes: a NumPy archive (``.npz``), followed by a digest."""

from __future__ import annotations

import io
import zipfile
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_DIGEST_BYTES = 16  # the digest follows the archive, so that `np.load` can still open the file


def encoded(entries: Mapping[str, Any]) -> bytes:
    """Encode arrays as bytes; equal arrays always give equal bytes.

    Examples
    --------
    >>> decoded(encoded({"sent": np.array([3, 4])}))["sent"].tolist()
    [3, 4]
    """
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for name, array in entries.items():
            # Not `np.savez`: it stores the time of writing, so equal arrays give different bytes.
            with archive.open(zipfile.ZipInfo(f"{name}.npy"), "w") as member:
                np.lib.format.write_array(member, _clean(np.asanyarray(array)), allow_pickle=False)
    return content.getvalue() + _digest(content.getvalue())


def _clean(array: NDArray[Any]) -> NDArray[Any]:
    """Copy an array of records with zeros as padding bytes, whose values NumPy leaves undefined."""
    if array.dtype.names is None:
        return array
    clean = np.zeros(array.shape, dtype=array.dtype)
    for name in array.dtype.names:
        clean[name] = array[name]
    return clean


def decoded(data: bytes) -> dict[str, Any]:
    """Decode the arrays that `encoded` wrote.

    Raises
    ------
    ValueError
        The bytes were cut short or changed after `encoded` made them.
    """
    content = data[:-_DIGEST_BYTES]
    if _digest(content) != data[-_DIGEST_BYTES:]:
        message = "it was cut short or changed after it was written"
        raise ValueError(message)
    with np.load(io.BytesIO(content), allow_pickle=False) as archive:
        return {name: archive[name] for name in archive.files}


def _digest(content: bytes) -> bytes:
    return blake2b(content, digest_size=_DIGEST_BYTES).digest()
