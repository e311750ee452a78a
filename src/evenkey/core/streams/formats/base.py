"""What every input format is: how messages, and labelled records, are read from its files."""

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
"""Most records of a `Piece`."""


class Piece(NamedTuple):
    """Some records in order.

    Parameters
    ----------
    table
        Their columns; in formats without types all are strings, null if a record has none.
    fault
        string[n], why a record cannot be read; null if it can.
    text
        The records as they stand in the file, for dead letters; None if they are no text.
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
        """The columns.

        In a format without types, a column with mostly numbers is float64, and others are string.
        """

    def check(self, columns: Iterable[str]) -> None:
        """Check that each column is there, once.

        Raises
        ------
        ConfigurationError
            A column is missing, or there are two of its name.
        """
        check_there(self.path, columns, self.schema.names)

    @abstractmethod
    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """Read columns of all records in order, empty lines left out.

        Raises
        ------
        ConfigurationError
            A column is missing, or there are two of its name, if that is known without the records.
        """


class InputFormat(ABC):
    """An input format."""

    name: str
    """What users pass as ``--split``."""
    suffixes: tuple[str, ...] = ()
    """Of files that are read in this format where no split is given."""
    reader: str | None = None
    """Spark's own reader, for code to paste: ``$paths`` is one path or a list, ``$unpacked`` has
    the paths one by one. None where Spark has none."""
    long_reader: str | None = None
    """The same for files with records of several lines, where that is another."""
    key: str | None = None
    """Column with the key of what this reader gives; None where the user names it."""
    in_topics: bool = False
    """Whether a record of a topic can be of this format."""

    @abstractmethod
    def index(
        self, paths: Sequence[Path], columns: Columns, values: Sequence[str]
    ) -> SplitLines | RowIndex:
        """Index files.

        Parameters
        ----------
        paths
            The files, none of them compressed.
        columns
            Those that make a message; a format without columns ignores them.
        values
            What else is read. A format without types leaves all that `columns` gives no type to.

        Raises
        ------
        ConfigurationError
            A file cannot be read, or lacks a column; or there is nothing in the files.
        """


class ColumnFormat(InputFormat):
    """A format whose records have columns or fields, one of which is the key."""

    has_types: bool = False
    """Whether its files hold the types of their columns."""

    @abstractmethod
    def records(self, path: str) -> RecordFile:
        """Give the records of a file.

        Raises
        ------
        ConfigurationError
            It cannot be read.
        """
