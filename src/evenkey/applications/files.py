"""Labelled records from users' files: read once, and kept by row number beside the checkpoint."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pc_csv
import pyarrow.dataset as ds
import pyarrow.parquet as pq

from evenkey.errors import ConfigurationError
from evenkey.streams.compressed import unpack
from evenkey.streams.files import find_files

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from evenkey.applications.config import ApplicationConfig
    from evenkey.applications.learner import Learner

__all__ = ["ROWS_OF_A_GROUP", "Kept", "keep_records"]

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


def keep_records(
    config: ApplicationConfig, learner: Learner[Any], target: Path, unpacked: Path
) -> Kept:
    """Read the labelled records of files and write them to one Parquet file.

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
    split = config.resolved_split()
    if config.label is None:
        message = "labelled records need label: the column that holds a record's class"
        raise ConfigurationError(message)
    try:
        schema = ds.dataset(files, format=split).schema
        sources = {"label": [config.label], **learner.columns(config, schema)}
        _check(sources, schema)
        fields = [pa.field("label", pa.string()), *learner.fields]
        dataset = ds.dataset(files, format=_format(split, sources, fields))
        return _copy(dataset, sources, pa.schema(fields), config.messages, target)
    except (OSError, pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        message = f"input {', '.join(map(str, config.input))} cannot be read as {split}: {error}"
        raise ConfigurationError(message) from error


def _check(sources: Mapping[str, Sequence[str]], schema: pa.Schema) -> None:
    for column in {each for columns in sources.values() for each in columns}:
        if schema.names.count(column) != 1:
            many = "two columns" if column in schema.names else "no column"
            message = f"the input has {many} {column!r}; it has: {', '.join(schema.names)}"
            raise ConfigurationError(message)


def _format(split: str, sources: Mapping[str, Sequence[str]], fields: Sequence[pa.Field]) -> Any:
    """How files are read: the types of CSV's columns are told, since it has none itself."""
    if split != "csv":
        return split
    types = {column: _single(field.type) for field in fields for column in sources[field.name]}
    return ds.CsvFileFormat(
        parse_options=pc_csv.ParseOptions(newlines_in_values=True),
        convert_options=pc_csv.ConvertOptions(column_types=types),
    )


def _single(kind: pa.DataType) -> pa.DataType:
    """The type of one column of a field."""
    return kind.value_type if pa.types.is_list(kind) else kind


def _copy(
    dataset: ds.Dataset,
    sources: Mapping[str, Sequence[str]],
    schema: pa.Schema,
    most: int | None,
    target: Path,
) -> Kept:
    columns = sorted({each for columns in sources.values() for each in columns})
    target.parent.mkdir(parents=True, exist_ok=True)
    temporary = target.with_suffix(".tmp")
    rows, position = 0, 0
    rejected: list[pa.Table] = [_NONE]
    waiting = schema.empty_table()
    with pq.ParquetWriter(temporary, schema) as writer:
        for batch in dataset.to_batches(columns=columns, use_threads=False):
            table = pa.Table.from_batches([batch])
            if most is not None:
                table = table.slice(0, max(0, most - position))
            good, bad = _vetted(table, sources, schema, position)
            position += table.num_rows
            rejected.append(bad)
            rows += good.num_rows
            waiting = pa.concat_tables([waiting, good])
            full = waiting.num_rows // ROWS_OF_A_GROUP * ROWS_OF_A_GROUP
            if full:
                writer.write_table(waiting.slice(0, full), row_group_size=ROWS_OF_A_GROUP)
                waiting = waiting.slice(full)
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
    table: pa.Table, sources: Mapping[str, Sequence[str]], schema: pa.Schema, first: int
) -> tuple[pa.Table, pa.Table]:
    """Give the good records of a table, and its dead letters."""
    reason = pa.nulls(table.num_rows, pa.string())
    none = pa.scalar(None, pa.string())
    made: dict[str, pa.Array] = {}
    for field in schema:
        parts = []
        for column in sources[field.name]:
            values = table[column].combine_chunks().cast(_single(field.type))
            absent = pc.if_else(pc.is_null(values), f"{column} is null", none)
            reason = pc.coalesce(reason, absent)
            if pa.types.is_floating(values.type):
                wild = pc.if_else(pc.is_finite(values), none, f"{column} is not finite")
                reason = pc.coalesce(reason, wild)
            parts.append(values)
        made[field.name] = _listed(parts) if pa.types.is_list(field.type) else parts[0]
    unnamed = pc.fill_null(pc.equal(made["label"], ""), fill_value=False)
    reason = pc.coalesce(reason, pc.if_else(unnamed, "the label is empty", none))
    bad = pc.is_valid(reason)
    positions = pa.array(np.arange(first, first + table.num_rows)).filter(bad)
    lines = [str(row) for row in table.filter(bad).to_pylist()]
    letters = [positions, pa.array(lines, pa.string()), reason.filter(bad)]
    return (
        pa.table(made, schema=schema).filter(pc.invert(bad)),
        pa.Table.from_arrays(letters, schema=_NONE.schema),
    )


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
