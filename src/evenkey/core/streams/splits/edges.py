"""The splitter for graphs that are written as lists of edges."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.streams.splits.base import RawMessages, Splitter
from evenkey.core.streams.splits.fields import Fields


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
