"""Row groups of Parquet files, read only if they are what they were when they were indexed."""

from __future__ import annotations

import struct
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow.parquet as pq

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["group_digests", "read_group"]

_DIGEST_BYTES = 16
_END_BYTES = 8
"""Of a Parquet file: the length of its footer, and its mark."""


def group_digests(path: str | Path, columns: tuple[str, ...] | None = None) -> tuple[str, ...]:
    """Digest columns of each row group of a file, as its bytes are, and the footer with them.

    Parameters
    ----------
    path
        The file.
    columns
        Names; None: all.

    Raises
    ------
    OSError, pyarrow.ArrowInvalid
        It cannot be read, or is not Parquet.
    """
    metadata = pq.read_metadata(path)
    columns = columns or tuple(metadata.schema.to_arrow_schema().names)
    return tuple(
        _digest(path, metadata, group, columns) for group in range(metadata.num_row_groups)
    )


def read_group(path: str | Path, group: int, columns: tuple[str, ...], digest: str) -> pa.Table:
    """Read columns of a row group; the one that was read last is kept in memory.

    Raises
    ------
    OSError, pyarrow.ArrowInvalid
        It cannot be read.
    ValueError
        It has changed since the digest was made.
    """
    return _read(str(path), Path(path).stat().st_mtime_ns, group, columns, digest)


@lru_cache(maxsize=2)  # rows are read block by block; a block may lie across the end of a group
def _read(path: str, changed: int, group: int, columns: tuple[str, ...], digest: str) -> pa.Table:
    del changed  # it is there so that another version of the file is read anew
    file = pq.ParquetFile(path)
    if group >= file.num_row_groups or _digest(path, file.metadata, group, columns) != digest:
        message = "it has changed since the run began"
        raise ValueError(message)
    return file.read_row_group(group, columns=list(columns))


def _digest(
    path: str | Path, metadata: pq.FileMetaData, group: int, columns: tuple[str, ...]
) -> str:
    row_group = metadata.row_group(group)
    chunks = [row_group.column(number) for number in range(row_group.num_columns)]
    inside = tuple(f"{column}." for column in columns)
    with Path(path).open("rb") as file:
        file.seek(-_END_BYTES, 2)
        (length,) = struct.unpack("<i", file.read(_END_BYTES)[:4])
        file.seek(-_END_BYTES - length, 2)
        digest = blake2b(file.read(length), digest_size=_DIGEST_BYTES)
        for chunk in chunks:
            if f"{chunk.path_in_schema}.".startswith(inside):
                file.seek(chunk.dictionary_page_offset or chunk.data_page_offset)
                digest.update(file.read(chunk.total_compressed_size))
    return digest.hexdigest()
