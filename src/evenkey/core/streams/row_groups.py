"""Row groups of files, read only if they have not changed since they were indexed."""

from __future__ import annotations

import struct
from abc import ABC, abstractmethod
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import pyarrow.parquet as pq

if TYPE_CHECKING:
    from typing import BinaryIO, Self

    import pyarrow as pa

_DIGEST_BYTES = 16
_END_BYTES = 8
"""Number of bytes at the end of a Parquet file that hold the footer's length and the magic
number."""


class RowGroup(NamedTuple):
    """Some columns of a row group.

    Parameters
    ----------
    number
        Number of the row group in its file.
    columns
        Names of the columns.
    spans
        Where the bytes of the columns are in the file: offset and length of each part.
    digest
        BLAKE2b of these bytes and of the file's footer.
    rows
        Number of rows.
    """

    number: int
    columns: tuple[str, ...]
    spans: tuple[tuple[int, int], ...]
    digest: str
    rows: int

    @classmethod
    def find(
        cls, path: str | Path, columns: tuple[str, ...] | None = None, form: RowFiles | None = None
    ) -> list[Self]:
        """Find the row groups of a file, and compute a digest of the columns of each row group.

        Parameters
        ----------
        path
            The file.
        columns
            Names of the columns. None: all columns.
        form
            Format of the file. None: Parquet.

        Raises
        ------
        OSError, pyarrow.ArrowInvalid
            The file cannot be read, or is not of the format.
        """
        form = form or PARQUET
        columns = columns or tuple(form.schema(path).names)
        return [
            cls(number, columns, each.spans, _digest(str(path), each.spans, form), each.rows)
            for number, each in enumerate(form.extents(path, columns))
        ]

    def read(self, path: str | Path, form: RowFiles | None = None) -> pa.Table:
        """Read the columns; the row groups that were read last are kept in memory.

        Raises
        ------
        OSError
            The file cannot be read.
        ValueError
            The row group has changed since its digest was computed.
        """
        return _read(str(path), Path(path).stat().st_mtime_ns, self, form or PARQUET)


class Extent(NamedTuple):
    """Number of rows of a row group; offset and length of the parts that hold some columns."""

    rows: int
    spans: tuple[tuple[int, int], ...]


class RowFiles(ABC):
    """Reads files of one format, which contain row groups and columns with types.

    Methods raise an `OSError` or a `pyarrow.ArrowInvalid` if a file is not of the format.
    """

    name: ClassVar[str]
    """Name of the format, as users pass it by ``--split``."""
    title: ClassVar[str]
    """Name of the format in messages."""

    @abstractmethod
    def schema(self, path: str | Path) -> pa.Schema:
        """Read the columns of a file, and their types."""

    @abstractmethod
    def extents(self, path: str | Path, columns: tuple[str, ...]) -> list[Extent]:
        """Find the row groups of a file, and the parts of the file that hold the columns."""

    @abstractmethod
    def read(self, path: str | Path, number: int, columns: tuple[str, ...]) -> pa.Table:
        """Read columns of a row group."""

    def footer(self, file: BinaryIO, size: int) -> int:
        """Return the offset of the footer, the last part of a file, which every row group needs.

        The method must work for any content, also of a corrupt file. By default, the footer is the
        whole file.
        """
        del file, size
        return 0


class ParquetFiles(RowFiles):
    """Parquet files."""

    name = "parquet"
    title = "Parquet"

    def schema(self, path: str | Path) -> pa.Schema:
        """Read the schema from the footer."""
        return _opened(path).schema_arrow

    def extents(self, path: str | Path, columns: tuple[str, ...]) -> list[Extent]:
        """Find the chunks of the columns in each row group."""
        metadata = pq.read_metadata(path)
        inside = tuple(f"{column}." for column in columns)
        groups = []
        for number in range(metadata.num_row_groups):
            group = metadata.row_group(number)
            chunks = (group.column(each) for each in range(group.num_columns))
            spans = tuple(
                (each.dictionary_page_offset or each.data_page_offset, each.total_compressed_size)
                for each in chunks
                if f"{each.path_in_schema}.".startswith(inside)
            )
            groups.append(Extent(group.num_rows, spans))
        return groups

    def read(self, path: str | Path, number: int, columns: tuple[str, ...]) -> pa.Table:
        """Read columns of a row group."""
        return _opened(path).read_row_group(number, columns=list(columns))

    def footer(self, file: BinaryIO, size: int) -> int:
        """Find the footer by its length, which is stored at the end of the file."""
        file.seek(max(0, size - _END_BYTES))
        end = file.read()
        length = struct.unpack("<i", end[:4])[0] if len(end) == _END_BYTES else 0
        return min(max(0, size - _END_BYTES - length), size)


def _opened(path: str | Path) -> pq.ParquetFile:
    return pq.ParquetFile(path, coerce_int96_timestamp_unit="us")


PARQUET = ParquetFiles()


@lru_cache(maxsize=2)  # rows are read in blocks, and a block can be in two row groups
def _read(path: str, changed: int, group: RowGroup, form: RowFiles) -> pa.Table:
    del changed  # part of the cache key, so that a changed file is read again
    # Check before anything parses the file, because an invalid footer can end the process.
    if _digest(path, group.spans, form) != group.digest:
        message = "it has changed since the run began"
        raise ValueError(message)
    return form.read(path, group.number, group.columns)


def _digest(path: str, spans: tuple[tuple[int, int], ...], form: RowFiles) -> str:
    with Path(path).open("rb") as file:
        file.seek(form.footer(file, file.seek(0, 2)))
        digest = blake2b(file.read(), digest_size=_DIGEST_BYTES)
        for offset, count in spans:
            file.seek(offset)
            digest.update(file.read(count))
    return digest.hexdigest()
