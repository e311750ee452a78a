"""The format of files with one JSON object per line."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.streams.formats.lines import ColumnLines
from evenkey.core.streams.splits import Columns, JsonLines

if TYPE_CHECKING:
    from collections.abc import Sequence


class JsonFiles(ColumnLines):
    """JSON objects, one per line."""

    name = JsonLines.name
    suffixes = (".json", ".jsonl", ".ndjson")
    reader = "spark.read.json($paths)"

    def splitter(self, columns: Columns, header: Sequence[str] | None = None) -> JsonLines:
        """Make the splitter."""
        del header
        return JsonLines(columns)
