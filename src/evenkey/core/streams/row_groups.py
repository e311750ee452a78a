"""Row groups of Parquet files, read only if they are what they were when they were indexed."""

from __future__ import annotations

import struct
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from typing import Self

    import pyarrow as pa

_DIGEST_BYTES = 16
_END_BYTES = 8
"""Of a Parquet file: the length of its footer, and its mark."""


class RowGroup(NamedTuple):
    """Some columns of a row group.

    Parameters
    ----------
    number
        In its file.
    columns
        Their names.
    spans
        Where their bytes lie in the file: offset and length of each.
    digest
        BLAKE2b of these bytes, and of the file's footer.
    """

    number: int
    columns: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    digest: str

    @classmethod
    def find(cls, path: str | Path, columns: tuple[str, ...] | None = None) -> list[Self]:
        """Digest columns of each row group of a file.

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
        inside = tuple(f"{column}." for column in columns)
        groups = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            chunks = (group.column(each) for each in range(group.num_columns))
            spans = tuple(
                (
                    chunk.dictionary_page_offset or chunk.data_page_offset,
                    chunk.total_compressed_size,
                )
                for chunk in chunks
                if f"{chunk.path_in_schema}.".startswith(inside)
            )
            groups.append(cls(number, columns, spans, _digest(str(path), spans)))
        return groups

    def read(self, path: str | Path) -> pa.Table:
        """Read the columns; those that were read last are kept in memory.

        Raises
        ------
        OSError
            It cannot be read.
        ValueError
            It has changed since it was digested.
        """
        return _read(str(path), Path(path).stat().st_mtime_ns, self)


@lru_cache(maxsize=2)  # rows are read block by block; a block may lie across the end of a group
def _read(path: str, changed: int, group: RowGroup) -> pa.Table:
    del changed  # it is there so that another version of the file is read anew
    # Before anything takes it apart: a footer that is no footer may end the process.
    if _digest(path, group.spans) != group.digest:
        message = "it has changed since the run began"
        raise ValueError(message)
    file = pq.ParquetFile(path, coerce_int96_timestamp_unit="us")
    return file.read_row_group(group.number, columns=list(group.columns))


def _digest(path: str, spans: tuple[tuple[int, int], ...]) -> str:
    with Path(path).open("rb") as file:
        size = file.seek(0, 2)
        file.seek(max(0, size - _END_BYTES))
        end = file.read()
        length = struct.unpack("<i", end[:4])[0] if len(end) == _END_BYTES else 0
        file.seek(min(max(0, size - _END_BYTES - length), size))
        digest = blake2b(file.read(), digest_size=_DIGEST_BYTES)
        for offset, count in spans:
            file.seek(offset)
            digest.update(file.read(count))
    return digest.hexdigest()
