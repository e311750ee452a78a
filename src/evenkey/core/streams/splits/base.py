"""The base class of splitters, and the result of splitting a batch of lines."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping  # noqa: TC003 - a named tuple's hints are kept
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


class Split(NamedTuple):
    """The messages in a batch of lines, and the lines that are rejected.

    Parameters
    ----------
    messages
        Messages in the order of the lines. Columns: ``line`` (int64, index of the line in the
        batch), ``key`` (string), ``count`` (int64), ``sender`` (string, if the lines name senders),
        and the columns of `Splitter.extra`.
    rejected
        Rejected lines in order. Columns: ``line`` (int64), ``reason`` (string).
    """

    messages: pa.Table
    rejected: pa.Table


class RawMessages(NamedTuple):
    """The messages that a splitter finds in a batch of texts, before keys and counts are checked.

    Parameters
    ----------
    line
        int64[n], index of the line in the batch, ascending.
    key
        string[n]; a null is a key like any other, as in Spark's ``groupBy``.
    count
        int64[n]; null and values below 1 are rejected.
    fault
        string[n], why the line cannot be read; null if it can be read.
    sender
        string[n], sender of each message. None: the lines name no senders.
    extra
        The columns of `Splitter.extra`, by name.
    """

    line: pa.Int64Array
    key: pa.StringArray
    count: pa.Int64Array
    fault: pa.StringArray
    sender: pa.StringArray | None = None
    extra: Mapping[str, pa.Array] = MappingProxyType({})


@dataclass(frozen=True)
class Splitter(ABC):
    """Finds the messages in raw lines; a line has any number of messages, or is rejected."""

    name: ClassVar[str]

    @property
    def extra(self) -> pa.Schema:
        """Columns of messages besides key, count and sender."""
        return pa.schema([])

    def split(self, lines: pa.BinaryArray) -> Split:
        """Split a batch of raw lines.

        A line is rejected if it is not UTF-8, does not parse, has no key or an empty key, or if its
        count is not a whole number of at least 1. A null is a valid key (decision 092).
        """
        readable, unreadable = decode(lines)
        found = self._find(readable.text)
        split = vet(found._replace(line=readable.line.take(found.line)))
        if not unreadable.num_rows:
            return split
        rejected = pa.concat_tables([split.rejected, unreadable]).sort_by("line")
        return Split(split.messages, rejected.combine_chunks())

    @abstractmethod
    def _find(self, text: pa.StringArray) -> RawMessages:
        """Find the messages of a batch of texts."""


def vet(found: RawMessages) -> Split:
    """Check keys and counts, and divide lines into messages and rejected lines.

    Examples
    --------
    >>> keys, counts = pa.array(["a", "", None, "b"]), pa.array([2, 1, 1, 0])
    >>> split = vet(RawMessages(pa.array(range(4)), keys, counts, pa.nulls(4, pa.string())))
    >>> split.messages.to_pylist()
    [{'line': 0, 'key': 'a', 'count': 2}, {'line': 2, 'key': None, 'count': 1}]
    >>> split.rejected["reason"].to_pylist()
    ['the key is empty', 'the count 0 is not a whole number of at least 1']
    """
    bad_count = pc.binary_join_element_wise(
        "the count ",
        pc.fill_null(pc.cast(found.count, pa.string()), "null"),
        " is not a whole number of at least 1",
        "",
    )
    none = pa.scalar(None, pa.string())
    reason = pc.coalesce(
        found.fault,
        pc.if_else(pc.equal(found.key, ""), "the key is empty", none),
        pc.if_else(pc.fill_null(pc.less(found.count, 1), fill_value=True), bad_count, none),
    )
    bad = pc.is_valid(reason)
    columns = {"line": found.line, "key": found.key, "count": found.count}
    if found.sender is not None:
        columns["sender"] = found.sender
    messages = pa.table({**columns, **found.extra})
    rejected = pa.table({"line": found.line, "reason": reason})
    return Split(messages.filter(pc.invert(bad)), rejected.filter(bad))


def as_text(lines: pa.BinaryArray) -> pa.StringArray:
    """Convert lines to text, with U+FFFD for bytes that are not UTF-8."""
    try:
        return lines.cast(pa.string())
    except pa.ArrowInvalid:
        texts = (line.decode("utf-8", errors="replace") for line in lines.to_pylist())
        return pa.array(texts, pa.string())


class Readable(NamedTuple):
    """Lines that are text, and their indices in the batch."""

    line: pa.Int64Array
    text: pa.StringArray


def decode(lines: pa.BinaryArray) -> tuple[Readable, pa.Table]:
    """Return the lines that are UTF-8, and a table of the lines that are null or not UTF-8."""
    places, reasons = [], []
    every = pa.array(np.arange(len(lines)))
    try:
        readable = Readable(every, lines.cast(pa.string()))
        sound = not lines.null_count
    except pa.ArrowInvalid:
        sound = False
    if not sound:
        for place, line in enumerate(lines.to_pylist()):
            try:
                if line is None:
                    places.append(place)
                    reasons.append("the line is null")
                else:
                    line.decode("utf-8")
            except UnicodeDecodeError as error:
                places.append(place)
                reasons.append(f"not UTF-8: {error.reason} at byte {error.start}")
        good = every.take(pa.array(np.setdiff1d(np.arange(len(lines)), places)))
        readable = Readable(good, lines.take(good).cast(pa.string()))
    columns = [pa.array(places, pa.int64()), pa.array(reasons, pa.string())]
    return readable, pa.Table.from_arrays(columns, names=["line", "reason"])
