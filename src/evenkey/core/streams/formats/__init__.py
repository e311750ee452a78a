"""The list of all input formats, from which options, checks and help texts are made."""

from __future__ import annotations

from functools import cached_property

from evenkey.core.streams.formats.base import ColumnFormat, InputFormat, Piece
from evenkey.core.streams.formats.csv_files import CsvFiles
from evenkey.core.streams.formats.json_files import JsonFiles
from evenkey.core.streams.formats.lines import LineFormat, TextFormat
from evenkey.core.streams.formats.row_format import RowFormat
from evenkey.core.streams.row_groups import PARQUET
from evenkey.core.streams.splits import SPLITTERS, Lines, Words

__all__ = [
    "FORMATS",
    "CsvFiles",
    "Piece",
]

_WORDS = (
    'spark.read.text($paths).select(\n    F.explode(F.split(F.lower("value"), '
    'r"[^\\pL\\pM\\pN_]+")).alias("word")\n).where("word != \'\'")'
)
_LISTED: tuple[InputFormat, ...] = (
    TextFormat(Words(), reader=_WORDS, key="word"),
    TextFormat(Lines(), reader="spark.read.text($paths).where(\"value != ''\")", key="value"),
    CsvFiles(),
    JsonFiles(),
    RowFormat(PARQUET, (".parquet",), "spark.read.parquet($unpacked)"),
    *(TextFormat(each) for each in SPLITTERS.values() if each not in (Words(), Lines())),
)


class InputFormats(dict[str, InputFormat]):
    """Input formats by name."""

    @cached_property
    def with_columns(self) -> dict[str, ColumnFormat]:
        """The formats whose records have columns."""
        return {name: each for name, each in self.items() if isinstance(each, ColumnFormat)}

    @cached_property
    def of_lines(self) -> dict[str, LineFormat]:
        """The formats of text files."""
        return {name: each for name, each in self.items() if isinstance(each, LineFormat)}

    @cached_property
    def of_rows(self) -> dict[str, RowFormat]:
        """The formats of files with row groups."""
        return {name: each for name, each in self.items() if isinstance(each, RowFormat)}

    @cached_property
    def by_suffix(self) -> dict[str, InputFormat]:
        """The formats by the suffix of a file."""
        return {suffix: each for each in self.values() for suffix in each.suffixes}


FORMATS = InputFormats({each.name: each for each in _LISTED})
"""Every input format."""
