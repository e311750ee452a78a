"""Splitters of plain text: whole lines, words, and lists of edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.streams.splits.base import RawMessages, Splitter
from evenkey.core.streams.splits.fields import Fields


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
        return once_each(np.arange(len(text)), text)


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
        return once_each(pc.list_parent_indices(parts).filter(some), words.filter(some))


@dataclass(frozen=True)
class Edges(Splitter):
    r"""Edges, written ``from to`` with blanks or tabs between: the key is `to`, the sender `from`.

    Lines that begin with ``#`` are comments: they hold no message and are not rejected.

    Examples
    --------
    >>> split = Edges().split(pa.array([b"# two edges", b"0\t1", b"1 2", b"3"]))
    >>> split.messages.to_pylist() # doctest: +NORMALIZE_WHITESPACE
    [{'line': 1, 'key': '1', 'count': 1, 'sender': '0'},
     {'line': 2, 'key': '2', 'count': 1, 'sender': '1'}]
    >>> split.rejected.to_pylist()
    [{'line': 3, 'reason': 'the number of fields is 1, not 2'}]
    """

    name: ClassVar[str] = "edges"

    def _find(self, text: pa.StringArray) -> RawMessages:
        edges = pc.invert(pc.starts_with(text, "#"))
        line = np.flatnonzero(edges.to_numpy(zero_copy_only=False))
        bare = pc.ascii_trim_whitespace(text.filter(edges))
        fields = Fields(pc.ascii_split_whitespace(bare), 2, "the number of fields is {}, not 2")
        ones = pa.array(np.ones(len(line), dtype=np.int64))
        return RawMessages(pa.array(line), fields.column(1), ones, fields.fault, fields.column(0))


def once_each(line: pa.Array, key: pa.StringArray) -> RawMessages:
    """Return messages of weight 1 from the indices of their lines and their keys."""
    ones = pa.array(np.ones(len(key), dtype=np.int64))
    return RawMessages(pc.cast(line, pa.int64()), key, ones, pa.nulls(len(key), pa.string()))
