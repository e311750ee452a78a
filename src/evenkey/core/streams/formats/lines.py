"""Formats of text files, which are read line by line or record by record."""

from __future__ import annotations

from abc import abstractmethod
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from evenkey.core.streams.file_stream import SplitLines
from evenkey.core.streams.files import LineIndex
from evenkey.core.streams.formats.base import PIECE, ColumnFormat, InputFormat, Piece, RecordFile
from evenkey.core.streams.splits import Columns, as_text
from evenkey.core.streams.splits.columns import check_there

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from evenkey.core.streams.splits import ColumnSplitter, Splitter

_SEEN = 1000
"""Number of records that are read to decide which columns hold numbers."""


class LineFormat(InputFormat):
    """A format in which a splitter finds the messages, line by line or record by record."""

    in_topics = True

    @abstractmethod
    def splitter(self, columns: Columns, header: Sequence[str] | None = None) -> Splitter:
        """Make the splitter; `header` has the column names if the files have a header."""


class TextFormat(LineFormat):
    """Text without columns.

    Parameters
    ----------
    splitter
        Splitter that finds the messages in lines.
    reader, key
        As in `InputFormat`.
    """

    def __init__(
        self, splitter: Splitter, reader: str | None = None, key: str | None = None
    ) -> None:
        self.name = splitter.name
        self.reader = reader
        self.key = key
        self._splitter = splitter

    def splitter(self, columns: Columns, header: Sequence[str] | None = None) -> Splitter:
        """Return the splitter."""
        del columns, header
        return self._splitter

    def index(self, paths: Sequence[Path], columns: Columns, values: Sequence[str]) -> SplitLines:
        """Index the lines of files."""
        del columns, values
        return SplitLines(LineIndex.build(paths), self._splitter)


class ColumnLines(LineFormat, ColumnFormat):
    """A text format whose records have columns or fields."""

    @abstractmethod
    def splitter(self, columns: Columns, header: Sequence[str] | None = None) -> ColumnSplitter:
        """Make the splitter; `header` has the column names if the files have a header."""

    def lines(self, paths: Sequence[str | Path], *, may_be_empty: bool = False) -> LineIndex:
        """Index the records of files."""
        return LineIndex.build(paths, may_be_empty=may_be_empty)

    def header(self, lines: LineIndex) -> tuple[str, ...] | None:
        """Read the header that all files share; None if the format has no headers."""
        del lines
        return None

    def index(self, paths: Sequence[Path], columns: Columns, values: Sequence[str]) -> SplitLines:
        """Index the records of files; `values` is ignored, because the files state no types."""
        del values
        lines = self.lines(paths)
        return SplitLines(lines, self.splitter(columns, self.header(lines)))

    def records(self, path: str) -> RecordFile:
        """Index the records of a file."""
        return _RecordLines(self, path)


class _RecordLines(RecordFile):
    """The records of a text file, indexed once."""

    def __init__(self, form: ColumnLines, path: str) -> None:
        self.path = path
        self._form = form
        self._lines = form.lines([path], may_be_empty=True)
        self._header = form.header(self._lines)

    @cached_property
    def schema(self) -> pa.Schema:
        """The columns, with types judged from the first records."""
        some = _filled(self._lines.read(0, PIECE))
        names = self._header or tuple(self._form.splitter(Columns(())).fields(as_text(some))[1])
        if len(set(names)) < len(names):
            return pa.schema([(name, pa.string()) for name in names])
        values, fault = self._form.splitter(Columns(names), self._header).read(some)
        good = pa.array(np.flatnonzero(fault.is_null())[:_SEEN])
        numbers = {name: _is_mostly_numbers(each.take(good)) for name, each in values.items()}
        return pa.schema([(name, pa.float64() if numbers[name] else pa.string()) for name in names])

    def pieces(self, columns: Sequence[str]) -> Iterator[Piece]:
        """Read the records in order, piece by piece."""
        if self._header is not None:
            check_there(self.path, columns, self._header)
        splitter = self._form.splitter(Columns(columns), self._header)
        for start in range(0, self._lines.lines, PIECE):
            some = _filled(self._lines.read(start, start + PIECE))
            values, fault = splitter.read(some)
            yield Piece(pa.table(dict(values)), fault, as_text(some))


def _filled(lines: pa.BinaryArray) -> pa.BinaryArray:
    """Leave out lines that are empty or blank."""
    return lines.filter(pa.array([bool(line.strip()) for line in lines.to_pylist()], pa.bool_()))


def _is_mostly_numbers(values: pa.StringArray) -> bool:
    given = [each for each in values.to_pylist() if each]
    return sum(map(_is_number, given)) * 2 > len(given)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
