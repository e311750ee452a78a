"""Input formats: the one list of what can be read, from which options, checks and help follow."""

from __future__ import annotations

from evenkey.core.streams.formats.base import ColumnFormat, InputFormat, Piece, check_columns
from evenkey.core.streams.formats.csv_files import CsvFiles
from evenkey.core.streams.formats.json_files import JsonFiles
from evenkey.core.streams.formats.lines import LineFormat, TextFormat
from evenkey.core.streams.formats.rows import RowFormat
from evenkey.core.streams.row_groups import PARQUET
from evenkey.core.streams.splits import SPLITTERS, Lines, Words

__all__ = [
    "COLUMN_FORMATS",
    "FORMATS",
    "FORMATS_BY_SUFFIX",
    "LINE_FORMATS",
    "ROW_FORMATS",
    "CsvFiles",
    "Piece",
    "check_columns",
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

FORMATS: dict[str, InputFormat] = {each.name: each for each in _LISTED}
"""Every input format, by name."""
COLUMN_FORMATS = {each.name: each for each in _LISTED if isinstance(each, ColumnFormat)}
"""Those whose records have columns."""
LINE_FORMATS = {each.name: each for each in _LISTED if isinstance(each, LineFormat)}
"""Those of text."""
ROW_FORMATS = {each.name: each for each in _LISTED if isinstance(each, RowFormat)}
"""Those of rows."""
FORMATS_BY_SUFFIX = {suffix: each for each in _LISTED for suffix in each.suffixes}
"""Those that a file's suffix names."""
