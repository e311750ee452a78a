"""Splitters of plain text: whole lines, and words."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.streams.splits.base import RawMessages, Splitter


@dataclass(frozen=True)
class Lines(Splitter):
    """The whole line is the key.

    Examples
    --------
    >>> Lines().split(pa.array([b"Turkey", b""])).rejected.to_pylist()
    [{'line': 1, 'reason': 'the key is empty'}]
    """

    name: ClassVar[str] = "lines"

    def _find(self, text: pa.StringArray) -> RawMessages:
        return _once_each(np.arange(len(text)), text)


@dataclass(frozen=True)
class Words(Splitter):
    """Each word is a message; a word is alphabetic characters with marks, digits and underscores.

    Words are converted to lower case. A line without words has no message and is not rejected.

    Examples
    --------
    >>> Words().split(pa.array([b"To be, or not to be"])).messages["key"].to_pylist()
    ['to', 'be', 'or', 'not', 'to', 'be']
    """

    name: ClassVar[str] = "words"
    _BETWEEN: ClassVar[str] = r"[^\pL\pM\pN_]+"

    def _find(self, text: pa.StringArray) -> RawMessages:
        parts = pc.split_pattern_regex(pc.utf8_lower(text), self._BETWEEN)
        words = pc.list_flatten(parts)
        some = pc.not_equal(words, "")  # a gap at an end of a line yields an empty word
        return _once_each(pc.list_parent_indices(parts).filter(some), words.filter(some))


def _once_each(line: pa.Array, key: pa.StringArray) -> RawMessages:
    ones = pa.array(np.ones(len(key), dtype=np.int64))
    return RawMessages(pc.cast(line, pa.int64()), key, ones, pa.nulls(len(key), pa.string()))
