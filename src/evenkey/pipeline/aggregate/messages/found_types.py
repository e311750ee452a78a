"""Look through text files before they are read: types of columns, and names of fields."""

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
    """Find out the types of the aggregator's columns, and make sure that fields exist.

    All lines are read where a type is not given, since one value can decide it; for fields that
    only records name, as those of JSON, as many as it takes to meet each of them once.

    Parameters
    ----------
    name
        What to call the input.
    index
        Its lines.
    splitter
        Takes them apart; its columns are those whose types are given.
    config
        Says what the aggregator reads.

    Returns
    -------
    Splitter
        With all columns.

    Raises
    ------
    ConfigurationError
        No record has a field, or the header lacks a column; the message lists what there is.
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
    """Give all lines as text, some at a time."""
    for start in range(0, index.lines, _LINES):
        yield as_text(index.read(start, start + _LINES))


def _check_seen(name: str, index: LineIndex, splitter: ColumnSplitter, unseen: set[str]) -> None:
    """Make sure that the fields are there; one that is null everywhere is."""
    fields: dict[str, None] = {}
    for lines in _pieces(index):
        there, others = splitter.fields(lines)
        unseen = unseen - there
        fields |= others
        if not unseen:
            return
    lacking = " or ".join(repr(each) for each in sorted(unseen))
    has = ", ".join([*fields][:_MOST_FIELDS]) or "none"
    message = f"input {name}: no record has a field {lacking}; there are: {has}"
    raise ConfigurationError(message)
