"""Read labelled records from users' files once, and store them by row number in the run's state."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import FORMATS, find_files, unpack

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from evenkey.core.streams import Piece
    from evenkey.pipeline.learn.base import Learner
    from evenkey.pipeline.learn.config import LearnConfig

_NO_REASON = pa.scalar(None, pa.string())
_ABSENT = r"^(|NA|N/A|null|NULL|None)$"
_NUMBER = r"^[+-]?(([0-9]+[.]?[0-9]*|[.][0-9]+)([eE][+-]?[0-9]+)?|inf|nan|Infinity|NaN)$"

ROWS_OF_A_GROUP = 8192
"""Number of rows in each row group except the last group. So row n is in group n // 8192."""


class Kept(NamedTuple):
    """The accepted and rejected records of an input.

    Parameters
    ----------
    rows
        Number of accepted records, which are in the Parquet file.
    rejected
        Table of the rejected records: ``position``, ``line`` and ``reason``.
    """

    rows: int
    rejected: pa.Table


def keep_records(config: LearnConfig, learner: Learner[Any], target: Path, unpacked: Path) -> Kept:
    """Read the labelled records of files and write them to one Parquet file.

    Input that is not a record, such as a line with too many fields or a text instead of a number,
    is rejected with a reason, and does not affect other records.

    Parameters
    ----------
    config
        The configuration, which names the files, the label and the columns of the learner's fields.
    learner
        The learner, which declares its fields.
    target
        The Parquet file, with ``label`` and the learner's fields; written completely or not at all.
    unpacked
        Directory for the content of compressed files.

    Raises
    ------
    ConfigurationError
        A file cannot be read, a column is missing or has a wrong type, or no record is accepted;
        the message names the cause.
    """
    files = [str(path) for path in unpack(find_files(config.input), unpacked)]
    form = FORMATS.with_columns[config.resolved_split()]
    if config.label is None:
        message = "labelled records need the option label, the column with a record's class"
        raise ConfigurationError(message)
    try:
        first = form.records(files[0])
        sources = {"label": [config.label], **learner.columns(config, first.schema)}
        columns = sorted({each for columns in sources.values() for each in columns})
        first.check(columns)
        fields = pa.schema([pa.field("label", pa.string()), *learner.fields])
        every = chain([first], map(form.records, files[1:]))
        pieces = (piece for records in every for piece in records.pieces(columns))
        return _copy(pieces, sources, fields, config.messages, target)
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        message = (
            f"input {', '.join(map(str, config.input))} cannot be read as {form.name}: {error}"
        )
        raise ConfigurationError(message) from error


def _copy(
    pieces: Iterable[Piece],
    sources: Mapping[str, Sequence[str]],
    schema: pa.Schema,
    most: int | None,
    target: Path,
) -> Kept:
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    rows, position = 0, 0
    rejected: list[pa.Table] = [_NONE]
    waiting = schema.empty_table()
    with pq.ParquetWriter(temporary, schema) as writer:
        for piece in pieces:
            remaining = piece.table.num_rows if most is None else max(0, most - position)
            good, bad = _vetted(piece, sources, schema, position, remaining)
            position += min(remaining, piece.table.num_rows)
            rejected.append(bad)
            rows += good.num_rows
            waiting = pa.concat_tables([waiting, good])
            full = waiting.num_rows // ROWS_OF_A_GROUP * ROWS_OF_A_GROUP
            if full:
                writer.write_table(waiting.slice(0, full), row_group_size=ROWS_OF_A_GROUP)
                waiting = waiting.slice(full)
            if position == most:
                break
        if waiting.num_rows:
            writer.write_table(waiting, row_group_size=ROWS_OF_A_GROUP)
    temporary.replace(target)
    dead_letters = pa.concat_tables(rejected)
    if not rows:
        why = f"; first error: {dead_letters['reason'][0]}" if dead_letters.num_rows else ""
        message = (
            f"the input has no valid record; records read: {position}{why}; check split, label and "
            "the other columns"
        )
        raise ConfigurationError(message)
    return Kept(rows, dead_letters)


def _vetted(
    piece: Piece, sources: Mapping[str, Sequence[str]], schema: pa.Schema, first: int, most: int
) -> tuple[pa.Table, pa.Table]:
    """Check the first `most` records of a piece; return the valid records and the dead letters."""
    table, reason = piece.table.slice(0, most), piece.fault.slice(0, most)
    made: dict[str, pa.Array] = {}
    for field in schema:
        parts = []
        for column in sources[field.name]:
            values, why = _converted(column, table[column].combine_chunks(), field.type)
            reason = pc.coalesce(reason, why)
            parts.append(values)
        made[field.name] = _listed(parts) if pa.types.is_list(field.type) else parts[0]
    unnamed = pc.fill_null(pc.equal(made["label"], ""), fill_value=False)
    reason = pc.coalesce(reason, pc.if_else(unnamed, "the label is empty", _NO_REASON))
    bad = pc.is_valid(reason)
    lines = pa.array([str(row) for row in table.filter(bad).to_pylist()], pa.string())
    if piece.text is not None:
        # A line that cannot be parsed is shown unchanged.
        broken = pc.is_valid(piece.fault.slice(0, most)).filter(bad)
        lines = pc.if_else(broken, piece.text.slice(0, most).filter(bad), lines)
    positions = pa.array(np.arange(first, first + table.num_rows)).filter(bad)
    return (
        pa.table(made, schema=schema).filter(pc.invert(bad)),
        pa.Table.from_arrays([positions, lines, reason.filter(bad)], schema=_NONE.schema),
    )


def _converted(column: str, values: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.StringArray]:
    """Convert values to a field's type; also return why each value is invalid, null if valid."""
    single = kind.value_type if pa.types.is_list(kind) else kind
    reason = pa.nulls(len(values), pa.string())
    if pa.types.is_floating(single) and pa.types.is_string(values.type):
        values, reason = _numbers(column, values)
    elif pa.types.is_string(single) and pa.types.is_binary(values.type):
        values = pa.array([_decoded(each) for each in values.to_pylist()], pa.string())
    values = values.cast(single)
    reason = pc.coalesce(reason, pc.if_else(pc.is_null(values), f"{column} is null", _NO_REASON))
    if pa.types.is_floating(single):
        wild = pc.if_else(pc.is_finite(values), _NO_REASON, f"{column} is not finite")
        reason = pc.coalesce(reason, wild)
    return values, reason


def _decoded(value: bytes | None) -> str | None:
    return None if value is None else value.decode("utf-8", errors="replace")


def _numbers(column: str, texts: pa.StringArray) -> tuple[pa.DoubleArray, pa.StringArray]:
    """Parse texts as numbers, empty texts as null; also return why a text is not a number."""
    trimmed = pc.utf8_trim_whitespace(texts)
    given = pc.fill_null(pc.invert(pc.match_substring_regex(trimmed, _ABSENT)), fill_value=False)
    is_number = pc.match_substring_regex(trimmed, _NUMBER)
    usable = pc.and_(given, pc.fill_null(is_number, fill_value=False))
    numbers = pc.if_else(usable, pc.utf8_ltrim(trimmed, "+"), _NO_REASON).cast(pa.float64())
    shown = pc.utf8_slice_codeunits(texts, 0, 80)
    reason = pc.binary_join_element_wise(f"{column} '", shown, "' is not a number", "")
    return numbers, pc.if_else(pc.and_(given, pc.invert(usable)), reason, _NO_REASON)


def _listed(parts: Sequence[pa.Array]) -> pa.ListArray:
    """Combine columns of equal length into lists, row by row."""
    rows = len(parts[0])
    order = np.arange(rows * len(parts)).reshape(len(parts), rows).T.ravel()
    offsets = pa.array(np.arange(rows + 1) * len(parts), pa.int32())
    return pa.ListArray.from_arrays(offsets, pa.concat_arrays(parts).take(pa.array(order)))


_NONE = pa.table(
    {
        "position": pa.array([], pa.int64()),
        "line": pa.array([], pa.string()),
        "reason": pa.array([], pa.string()),
    }
)
