"""The base classes of input formats, which read messages, or records with columns, from files."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.streams.splits.columns import check_there

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from pathlib import Path

    import pyarrow as pa

    from evenkey.core.streams.file_stream import SplitLines
    from evenkey.core.streams.row_index import RowIndex
    from evenkey.core.streams.splits import Columns

PIECE = 8192
"""Maximum number of records in a `Piece`."""


class Piece(NamedTuple):
    """Consecutive records.

    Parameters
    ----------
    table
        Columns of the records. In formats without types, all columns are strings. A missing value
        is null.
    fault
        string[n], why a record cannot be read; null if the record can be read.
    text
        The records as they are written in the file, for dead letters. None: the records are not
        text.
    """

    table: pa.Table
    fault: pa.StringArray
    text: pa.StringArray | None


class RecordFile(ABC):
    """The records of one file, which have columns.

    Methods raise an `OSError` or a `pyarrow.ArrowInvalid` if the file is not of the format.
    """

    path: str

    @property
    @abstractmethod
    def schema(self) -> pa.Schema:
        """The columns of the records.

        In a format without types, a column with mostly numbers is float64, and each other column is
        string.
        """

    def check(self, columns: Iterable[str]) -> None:
        """Check that each column exists exactly once.

        Raises
        ------
        ConfigurationError
            A column is missing, or two columns have the same name.
        """
        check_there(self.path, columns, self.schema.names)

    @abstractmethod
    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """Read columns of all records in order, without empty lines.

        Raises
        ------
        ConfigurationError
            A column is missing, or two columns have the same name. A format whose columns are known
            only from the records does not raise this error.
        """


class InputFormat(ABC):
    """An input format."""

    name: str
    """Name of the format, as users pass it by ``--split``."""
    suffixes: tuple[str, ...] = ()
    """Suffixes of files that are read in this format if no split is passed."""
    reader: str | None = None
    """Code for users to paste, which reads files of this format with Spark. ``$paths`` stands for
    one path or a list of paths, and ``$unpacked`` for the paths as separate arguments. None: Spark
    has no reader for this format."""
    long_reader: str | None = None
    """Code as in `reader`, for files with records of several lines. None: the code of `reader`."""
    key: str | None = None
    """Column of the result of `reader` that holds the key. None: the user names the column."""
    in_topics: bool = False
    """Whether a record of a Kafka topic can have this format."""

    @abstractmethod
    def index(
        self, paths: Sequence[Path], columns: Columns, values: Sequence[str]
    ) -> SplitLines | RowIndex:
        """Index files, so that their lines or rows can be read by number.

        Parameters
        ----------
        paths
            The files, not compressed.
        columns
            Columns that make a message; a format without columns ignores them.
        values
            Names of other columns to read. A format without types ignores these names: it reads the
            values that have a type in `columns`.

        Raises
        ------
        ConfigurationError
            A file cannot be read or lacks a column, or the files have no line or row.
        """


class ColumnFormat(InputFormat):
    """A format whose records have columns or fields, one of which is the key."""

    has_types: bool = False
    """Whether files of this format state the types of their columns."""

    @abstractmethod
    def records(self, path: str) -> RecordFile:
        """Return the records of a file.

        Raises
        ------
        ConfigurationError
            The file cannot be read.
        """
