"""Labelled records from users' files: read once, and kept by row number beside the checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import (
    FORMATS,
    find_files,
    unpack,
)

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
"""Rows of each row group but the last, so that a row's group follows from its number."""


class Kept(NamedTuple):
    """What became of the records of an input.

    Parameters
    ----------
    rows
        Good records, in the file.
    rejected
        ``position``, ``line`` and ``reason`` of the others.
    """

    rows: int
    rejected: pa.Table


def keep_records(config: LearnConfig, learner: Learner[Any], target: Path, unpacked: Path) -> Kept:
    """Read the labelled records of files and write them to one Parquet file.

    What cannot be read as a record, a line with too many fields for instance or a text where a
    number should be, is rejected with its reason, and costs no other record.

    Parameters
    ----------
    config
        Names the files, the label and the columns of the learner's fields.
    learner
        Knows its fields.
    target
        The Parquet file, ``label`` and the learner's fields; written whole or not at all.
    unpacked
        Directory for the content of compressed files.

    Raises
    ------
    ConfigurationError
        A file cannot be read, a column is missing or of a type that does not fit, or no record
        is good; the message names it.
    """
    files = [str(path) for path in unpack(find_files(config.input), unpacked)]
    form = FORMATS.with_columns[config.resolved_split()]
    if config.label is None:
        message = "labelled records need label: the column that holds a record's class"
        raise ConfigurationError(message)
    try:
        schema = form.schema(files[0])
        sources = {"label": [config.label], **learner.columns(config, schema)}
        columns = sorted({each for columns in sources.values() for each in columns})
        fields = pa.schema([pa.field("label", pa.string()), *learner.fields])
        pieces = (piece for file in files for piece in form.pieces(file, columns))
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
            room = piece.table.num_rows if most is None else max(0, most - position)
            good, bad = _vetted(piece, sources, schema, position, room)
            position += min(room, piece.table.num_rows)
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
    letters = pa.concat_tables(rejected)
    if not rows:
        why = f"; the first of them: {letters['reason'][0]}" if letters.num_rows else ""
        message = f"the input has no good record among {position}{why}"
        raise ConfigurationError(message)
    return Kept(rows, letters)


def _vetted(
    piece: Piece, sources: Mapping[str, Sequence[str]], schema: pa.Schema, first: int, room: int
) -> tuple[pa.Table, pa.Table]:
    """Give the good ones of a piece's first records, and its dead letters."""
    table, reason = piece.table.slice(0, room), piece.fault.slice(0, room)
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
        # What cannot be taken apart is shown as it stands.
        broken = pc.is_valid(piece.fault.slice(0, room)).filter(bad)
        lines = pc.if_else(broken, piece.text.slice(0, room).filter(bad), lines)
    positions = pa.array(np.arange(first, first + table.num_rows)).filter(bad)
    return (
        pa.table(made, schema=schema).filter(pc.invert(bad)),
        pa.Table.from_arrays([positions, lines, reason.filter(bad)], schema=_NONE.schema),
    )


def _converted(column: str, values: pa.Array, kind: pa.DataType) -> tuple[pa.Array, pa.StringArray]:
    """Give values of a field's type, and of those that are none why."""
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
    """Read numbers from texts, null where there is none, and say of those that are none why."""
    trimmed = pc.utf8_trim_whitespace(texts)
    given = pc.fill_null(pc.invert(pc.match_substring_regex(trimmed, _ABSENT)), fill_value=False)
    is_number = pc.match_substring_regex(trimmed, _NUMBER)
    usable = pc.and_(given, pc.fill_null(is_number, fill_value=False))
    numbers = pc.if_else(usable, pc.utf8_ltrim(trimmed, "+"), _NO_REASON).cast(pa.float64())
    shown = pc.utf8_slice_codeunits(texts, 0, 80)
    said = pc.binary_join_element_wise(f"{column} '", shown, "' is not a number", "")
    return numbers, pc.if_else(pc.and_(given, pc.invert(usable)), said, _NO_REASON)


def _listed(parts: Sequence[pa.Array]) -> pa.ListArray:
    """Put columns of equal length side by side into lists."""
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
