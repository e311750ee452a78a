"""Store the index of the input that a run found, and read it in later processes of the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from evenkey.core.streams import (
    FORMATS,
    Columns,
    ColumnSplitter,
    LineIndex,
    RowGroup,
    RowIndex,
    SplitLines,
)
from evenkey.pipeline.runs import keep_reading, recall_reading, tuples

if TYPE_CHECKING:
    from evenkey.core.streams import Splitter
    from evenkey.pipeline.runs import Reading, RunDirectory

Extent: TypeAlias = tuple[int, float, int]
"""Number of positions to read, positions per second of event time, and positions per block."""


class FoundInput(NamedTuple):
    """The input of a configuration, found without Spark.

    Parameters
    ----------
    name
        The name of the dataset, the paths of the files, or the address of the topics.
    reading
        Reads rows by position; None for topics, which Spark's connector reads.
    splitter
        Splits the lines; None if the input consists of rows that have keys.
    """

    name: str
    reading: Reading | None
    splitter: Splitter | None


def keep_records(records: SplitLines | RowIndex, extent: Extent, directory: RunDirectory) -> None:
    """Store the index of the input, for later processes of the run."""
    if isinstance(records, RowIndex):
        _keep_rows(records, extent, directory)
        return
    lines, splitter = records.index, records.splitter
    index = {
        "files": lines.files,
        "sizes": lines.sizes,
        "skipped": lines.skipped,
        "line_ends": lines.line_ends,
        "widths": lines.widths,
        "lines": lines.lines,
    }
    columns, header = Columns(()), tuple[str, ...]()
    if isinstance(splitter, ColumnSplitter):
        columns, header = splitter.columns, splitter.names
    fields = {
        "kind": "lines",
        "extent": extent,
        "split": splitter.name,
        "columns": columns.to_json(),
        "header": header,
        "index": index,
    }
    keep_reading(
        directory,
        fields,
        starts=lines.starts,
        segments=lines.segments,
        digests=lines.digests,
    )


def _keep_rows(rows: RowIndex, extent: Extent, directory: RunDirectory) -> None:
    key = rows.columns.key
    types = Columns(key, values=zip(key, rows.key_types, strict=True))
    fields = {
        "kind": "rows",
        "extent": extent,
        "split": rows.form.name,
        "index": {"files": rows.files, "groups": rows.groups, "ends": rows.ends},
        "columns": rows.columns.to_json(),
        "key_types": types.to_json(),
    }
    keep_reading(directory, fields)


def kept_records(directory: RunDirectory) -> tuple[SplitLines | RowIndex, Extent]:
    """Read the input that the run in this directory found at its start.

    Raises
    ------
    RunError
        The stored description of the input cannot be read.
    """
    kept, arrays = recall_reading(directory.store)
    index: dict[str, Any] = {name: tuples(value) for name, value in kept["index"].items()}
    columns = Columns.from_json(kept["columns"])
    if kept["kind"] == "rows":
        index["groups"] = tuple((file, RowGroup(*group)) for file, group in index["groups"])
        types = tuple(kind for _, kind in Columns.from_json(kept["key_types"]).values)
        form = FORMATS.of_rows[kept["split"]].files
        return RowIndex(**index, columns=columns, key_types=types, form=form), kept["extent"]
    # Use the stored name of the split: the files, whose suffixes may have determined the split,
    # need not exist any more.
    splitter = FORMATS.of_lines[kept["split"]].splitter(columns, kept["header"])
    return SplitLines(LineIndex(**{**index, **arrays}), splitter), kept["extent"]
