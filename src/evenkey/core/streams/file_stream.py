"""A stream of the messages in input files, for the simulator."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import numpy as np
import pyarrow as pa

from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_strings
from evenkey.core.streams.base import SPAN_SECONDS, MessageBatch

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenkey.core.streams.files import LineIndex
    from evenkey.core.streams.splits import Split, Splitter


class Records(Protocol):
    """Numbered records of an input; any range of records can be split into messages."""

    def __len__(self) -> int:
        """Return the number of records."""

    def split(self, start: int, stop: int) -> Split:
        """Split records `start` to `stop` - 1; in the result, ``line`` is 0 for record `start`."""


@dataclass(frozen=True)
class SplitLines:
    """Lines of text files, and the splitter that finds the messages in the lines."""

    index: LineIndex
    splitter: Splitter

    def __len__(self) -> int:
        return self.index.lines

    def split(self, start: int, stop: int) -> Split:
        """Split lines `start` to `stop` - 1."""
        return self.splitter.split(self.index.read(start, stop))


class FileStream:
    """A stream of the messages in input files.

    The stream must be read from first to last, because the id of a key is the number of distinct
    keys before the key's first message. The event time of a message is the number of its line
    divided by `rate`.

    Parameters
    ----------
    name
        Name of the stream, such as the paths of its files.
    records
        Lines with a splitter (`SplitLines`), or rows (`RowIndex`).
    rate
        Lines or rows per second of event time. None: the rate at which the stream spans 400 s.

    Raises
    ------
    ConfigurationError
        `rate` is not above 0.
    """

    def __init__(self, name: str, records: Records, *, rate: float | None = None) -> None:
        self.name = name
        self.per_second = len(records) / SPAN_SECONDS if rate is None else rate
        self.rejected = 0
        """Number of lines or rows that the last call of `batches` has rejected so far."""
        self._records = records
        self._numbers: dict[str | None, int] = {}
        if not (self.per_second > 0 and math.isfinite(self.per_second)):
            message = f"{name}: rate = {rate}: must be above 0 lines per second"
            raise ConfigurationError(message)

    def batches(self, size: int = 1 << 16) -> Iterator[MessageBatch]:
        """Read the whole stream; each batch has the messages of `size` lines.

        Raises
        ------
        ConfigurationError
            The stream has no message at all. The error is raised at the end of the stream.
        """
        self.rejected, messages, reason = 0, 0, None
        for start in range(0, len(self._records), size):
            split = self._records.split(start, start + size)
            self.rejected += split.rejected.num_rows
            messages += split.messages.num_rows
            if reason is None and split.rejected.num_rows:
                reason = split.rejected["reason"][0].as_py()
            yield self._batch(start, split)
        if not messages:
            why = f" (the first rejected line: {reason})" if reason else ""
            message = (
                f"{self.name}: none of {len(self._records)} lines is a message{why}; check split "
                "and key"
            )
            raise ConfigurationError(message)

    def texts(self, ids: NDArray[np.int64]) -> pa.StringArray:
        """Return the texts of keys, as in the files; only keys of batches read so far are known."""
        return pa.array(self._numbers, pa.string()).take(pa.array(ids))

    @property
    def key_count(self) -> int:
        """Number of distinct keys so far."""
        return len(self._numbers)

    def _batch(self, start: int, split: Split) -> MessageBatch:
        coded = split.messages["key"].combine_chunks().dictionary_encode(null_encoding="encode")
        texts, places = coded.dictionary, coded.indices.to_numpy()
        numbers = self._numbers
        ids = (numbers.setdefault(text, len(numbers)) for text in texts.to_pylist())
        lines = split.messages["line"].to_numpy()
        return MessageBatch(
            np.fromiter(ids, np.int64, len(texts))[places],
            hash_strings(texts)[places],
            split.messages["count"].to_numpy(),
            (lines + start) / self.per_second,
            _senders(split),
        )


def _senders(split: Split) -> NDArray[np.uint64] | None:
    if "sender" not in split.messages.column_names:
        return None
    coded = split.messages["sender"].combine_chunks().dictionary_encode()
    places: NDArray[np.int32] = coded.indices.to_numpy()
    return hash_strings(coded.dictionary)[places]
