"""The format of CSV files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.files import LineIndex
from evenkey.core.streams.formats.lines import ColumnLines
from evenkey.core.streams.splits import Columns, CsvRecords

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


class CsvFiles(ColumnLines):
    """Comma-separated records after a header; a quoted field may contain line ends."""

    name = CsvRecords.name
    suffixes = (".csv",)
    reader = "spark.read.csv($paths, header=True)"
    long_reader = "spark.read.csv($paths, header=True, multiLine=True, escape='\"')"
    in_topics = False

    def lines(self, paths: Sequence[str | Path], *, may_be_empty: bool = False) -> LineIndex:
        """Index the records of files, without the headers."""
        return LineIndex.build(paths, csv=True, may_be_empty=may_be_empty)

    def header(self, lines: LineIndex) -> tuple[str, ...]:
        """Read the header, which must be the same in all files that are not empty.

        Raises
        ------
        ConfigurationError
            A header is not text, or the headers differ.
        """
        filled = [number for number, size in enumerate(lines.sizes) if size]
        headers = {_header(lines, number) for number in filled}
        if len(headers) > 1:
            message = (
                f"the CSV files of the input have {len(headers)} different headers: name files "
                "with the same header"
            )
            raise ConfigurationError(message)
        return headers.pop() if headers else ()

    def splitter(self, columns: Columns, header: Sequence[str] | None = None) -> CsvRecords:
        """Make the splitter for files with this header."""
        return CsvRecords(tuple(header or ()), columns)


def _header(lines: LineIndex, number: int) -> tuple[str, ...]:
    header = lines.header(number)
    # A quoted name may contain line ends, so line ends are not checked.
    names = header.replace(b"\r\n", b"").replace(lines.line_ends[number].encode(), b"")
    control = next((each for each in names if each < ord(" ") and each != ord("\t")), None)
    if control is not None:
        message = (
            f"input {lines.files[number]} is not CSV text: its first line has the byte "
            f"{control:#04x}; name a CSV file with a header line, in UTF-8"
        )
        raise ConfigurationError(message)
    return CsvRecords.read_header(header)
