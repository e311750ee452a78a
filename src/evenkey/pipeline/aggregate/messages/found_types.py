"""Scan text files before a run: infer the types of columns, and check the names of fields."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import Columns, Guess, as_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.core.streams import ColumnSplitter, LineIndex
    from evenkey.pipeline.aggregate.config import PipelineConfig

_LINES = 1 << 14
_MOST_FIELDS = 30


def with_types(
    name: str, index: LineIndex, splitter: ColumnSplitter, config: PipelineConfig
) -> ColumnSplitter:
    """Infer the types of the aggregator's columns, and check that fields exist.

    If the type of a column is not given, all lines are read, because a single value can change the
    inferred type. If the records contain the names of fields, as in JSON, lines are read until each
    field has occurred.

    Parameters
    ----------
    name
        Name of the input, for error messages.
    index
        The lines of the input.
    splitter
        Splits the lines. Of the aggregator's columns, it has only those whose types are given.
    config
        The configuration, which names the columns that the aggregator reads.

    Returns
    -------
    Splitter
        The splitter with all columns and their types.

    Raises
    ------
    ConfigurationError
        A field is in no record, or a column is not in the header; the message lists the fields or
        columns that exist.
    """
    given = dict(splitter.columns.values)
    guesses = {each: Guess() for each in config.value_names if each not in given}
    every = [(each, given.get(each, pa.string())) for each in config.value_names]
    wanted = _with_values(splitter, every)
    unseen = set(wanted.columns.names) - set(wanted.names)
    for lines in _pieces(index) if guesses or unseen else ():
        texts = wanted.texts(lines)
        for each, guess in guesses.items():
            guess.add(texts[each])
        unseen = {each for each in unseen if texts[each].null_count == len(texts[each])}
        if not guesses and not unseen:
            break
    if unseen:
        _check_seen(name, index, wanted, unseen)
    found = {each: guess.type for each, guess in guesses.items()}
    return _with_values(splitter, [(each, found.get(each, kind)) for each, kind in every])


def _with_values(splitter: ColumnSplitter, values: list[tuple[str, pa.DataType]]) -> ColumnSplitter:
    columns = splitter.columns
    whole = Columns(columns.key, columns.count, columns.time, values)
    return splitter.with_columns(whole)


def _pieces(index: LineIndex) -> Iterator[pa.StringArray]:
    """Yield all lines as text, in batches."""
    for start in range(0, index.lines, _LINES):
        yield as_text(index.read(start, start + _LINES))


def _check_seen(name: str, index: LineIndex, splitter: ColumnSplitter, unseen: set[str]) -> None:
    """Check that each field is in some record, even if it is null in all of them."""
    fields: dict[str, None] = {}
    for lines in _pieces(index):
        there, others = splitter.fields(lines)
        unseen = unseen - there
        fields |= others
        if not unseen:
            return
    lacking = " or ".join(repr(each) for each in sorted(unseen))
    has = ", ".join([*fields][:_MOST_FIELDS]) or "none"
    message = f"input {name}: no record has a field {lacking}; records have: {has}"
    raise ConfigurationError(message)
