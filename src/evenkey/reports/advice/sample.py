"""A sample of a user's messages in memory, so that many simulations can read it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, get_args

import numpy as np
import pyarrow as pa

from evenkey.core.checking import whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import unknown_name
from evenkey.core.streams import FileStream, FirstRecords, MessageBatch, SpreadRecords

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Self

    from numpy.typing import NDArray

    from evenkey.core.streams import MessageStream, Records

Sampling = Literal["even", "first"]
"""Which lines or rows are read: lines at equal distances over the input, or the first lines."""


@dataclass(frozen=True)
class Sample:
    """Messages in memory, which the simulator can read as a stream.

    A message takes about 40 bytes; the text of each distinct key is stored once.

    Parameters
    ----------
    name
        Name of the input, such as its paths.
    batch
        All messages.
    keys
        The text of each key, indexed by key id; string[k].
    lines, of_lines
        Number of lines or rows that were read, and number of lines or rows in the input. They are
        equal if the whole input was read.
    sampling
        How the lines were chosen, if only a part was read.
    rejected
        Number of lines or rows in the sample that are not messages.

    Examples
    --------
    >>> from evenkey import generated
    >>> sample = Sample.take(generated("zipf(z=1.4,keys=1000)", messages=2000))
    >>> sample.lines, sample.whole, sample.nulls
    (2000, True, 0)

    >>> ids = next(sample.batches(size=3)).ids
    >>> sample.texts(ids).to_pylist()
    ['1', '6', '9']
    """

    name: str
    batch: MessageBatch
    keys: pa.StringArray
    lines: int
    of_lines: int
    sampling: Sampling = "even"
    rejected: int = 0

    @classmethod
    def take(
        cls,
        stream: MessageStream,
        *,
        lines: int | None = None,
        of_lines: int | None = None,
        sampling: Sampling = "even",
    ) -> Self:
        """Read a whole stream into memory.

        Parameters
        ----------
        stream
            The stream to read.
        lines, of_lines
            Number of lines or rows that the stream reads, and number of lines or rows in its
            input. None for `lines`: the number of messages. None for `of_lines`: `lines`.
        sampling
            How the lines were chosen.

        Raises
        ------
        ConfigurationError
            The stream has no messages.
        """
        batches = list(stream.batches())
        batch = MessageBatch(
            np.concatenate([each.ids for each in batches]),
            np.concatenate([each.keys for each in batches]),
            np.concatenate([each.counts for each in batches]),
            np.concatenate([each.times for each in batches]),
        )
        read = len(batch.ids) if lines is None else lines
        if not len(batch.ids):
            message = f"{stream.name}: none of {read} lines is a message; check split and key"
            raise ConfigurationError(message)
        # Keep only the keys that occur: a generated stream may have many more.
        ids, places = np.unique(batch.ids, return_inverse=True)
        numbered = MessageBatch(places, batch.keys, batch.counts, batch.times)
        return cls(
            stream.name,
            numbered,
            stream.texts(ids),
            read,
            read if of_lines is None else of_lines,
            sampling,
            stream.rejected if isinstance(stream, FileStream) else 0,
        )

    @property
    def whole(self) -> bool:
        """Whether all lines were read."""
        return self.lines == self.of_lines

    @property
    def nulls(self) -> int:
        """Number of messages whose key is null; null is a key like any other."""
        place = self.keys.is_null().index(True).as_py()
        return int(self.batch.counts[self.batch.ids == place].sum())

    def batches(self, size: int = 1 << 16) -> Iterator[MessageBatch]:
        """Yield the messages in batches of `size`."""
        every = self.batch
        for start in range(0, len(every.ids), size):
            part = slice(start, start + size)
            yield MessageBatch(
                every.ids[part], every.keys[part], every.counts[part], every.times[part]
            )

    def texts(self, ids: NDArray[np.int64]) -> pa.StringArray:
        """Return the texts of keys, given their ids."""
        return self.keys.take(pa.array(ids))


def sampled(name: str, records: Records, length: int, sampling: Sampling = "even") -> Sample:
    """Take a sample of lines or rows.

    Parameters
    ----------
    name
        Name of the sample, such as the paths of its files.
    records
        All lines or rows.
    length
        Number of lines or rows to read, at least 1. If the input has fewer, it is read as a whole.
    sampling
        ``even``: lines or rows at equal distances over the input. ``first``: the first lines or
        rows.

    Raises
    ------
    ConfigurationError
        `length` is below 1, `sampling` is neither ``even`` nor ``first``, or the sample has no
        messages.
    """
    whole_number("sample", length)
    if length < 1:
        message = f"sample = {length}: at least 1 line must be read"
        raise ConfigurationError(message)
    if sampling not in get_args(Sampling):
        unknown = unknown_name("sampling", sampling, get_args(Sampling))
        raise unknown
    total = len(records)
    if length < total:
        chosen = FirstRecords if sampling == "first" else SpreadRecords
        records = chosen(records, length)
    stream = FileStream(name, records)
    return Sample.take(stream, lines=len(records), of_lines=total, sampling=sampling)
