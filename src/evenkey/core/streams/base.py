"""The base class of generated streams: a message depends only on name, seed and offset."""

from __future__ import annotations

import dataclasses
import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Protocol

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import hash_strings
from evenkey.core.spelling import spell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evenkey.core.streams.published import Published

SPAN_SECONDS = 400.0
"""Seconds of event time that a stream spans if no rate is given."""

_STEP = 1 << 20


@dataclass(frozen=True)
class MessageBatch:
    """Consecutive messages of a stream.

    Parameters
    ----------
    ids
        int64[n], id of each message's key within the stream.
    keys
        uint64[n], hash of the text of each message's key.
    counts
        int64[n], weight of each message.
    times
        float64[n], event time in seconds since the stream began, non-decreasing.
    senders
        uint64[n], hash of the sender of each message, such as the source vertex of an edge. None:
        the stream has no senders.
    """

    ids: NDArray[np.int64]
    keys: NDArray[np.uint64]
    counts: NDArray[np.int64]
    times: NDArray[np.float64]
    senders: NDArray[np.uint64] | None = None


class MessageStream(Protocol):
    """A stream that the simulator reads from first to last: generated, or read from files.

    Examples
    --------
    >>> from evenkey.core.streams import generated
    >>> stream = generated("zipf(z=1.2,keys=100)", messages=1000)
    >>> stream.name, sum(len(batch.keys) for batch in stream.batches())
    ('zipf(z=1.2,keys=100)', 1000)

    >>> stream.texts(next(stream.batches()).ids[:3]).to_pylist()
    ['0', '0', '10']
    """

    @property
    def name(self) -> str:
        """Spelling of the stream, as users write it."""

    def batches(self, size: int = ...) -> Iterator[MessageBatch]:
        """Yield the whole stream in batches of about `size` messages."""

    def texts(self, ids: NDArray[np.int64]) -> pa.StringArray:
        """Return the texts of keys, as users see them."""


@dataclass(frozen=True)
class KeyStream(ABC):
    """A finite generated stream of keyed messages; each part can be generated without the others.

    Subclasses add their parameters as fields. A stream object is small and cheap to pickle: each
    process builds the tables of the stream when it first needs them, and caches the tables outside
    the object.

    Parameters
    ----------
    messages
        Number of messages. None: the usual number of this kind of stream.
    seed
        Seed of the random numbers. Another seed yields another stream of the same kind.
    rate
        Messages per second of event time. None: the rate at which the stream spans 400 s.

    Raises
    ------
    ConfigurationError
        `messages` is below 1, or `rate` is not above 0.
    """

    family: ClassVar[str]
    summary: ClassVar[str]
    usual_messages: ClassVar[int] = 1_000_000
    weighs: ClassVar[bool] = False
    """Whether messages have weights; otherwise each message weighs 1."""
    fixed: ClassVar[dict[str, dict[str, str]]] = {}
    """Streams of this family that have their own names: for each name, the parameters."""

    messages: int | None = field(default=None, kw_only=True)
    seed: int = field(default=0, kw_only=True)
    rate: float | None = field(default=None, kw_only=True)

    def __post_init__(self) -> None:
        check_fields(self)
        if self.messages is None:
            object.__setattr__(self, "messages", self.usual_messages)
        if self.length < 1:
            message = f"{self.name}: messages = {self.messages}: must be at least 1 message"
            raise ConfigurationError(message)
        if self.rate is None:
            object.__setattr__(self, "rate", self.length / SPAN_SECONDS)
        if not (self.per_second > 0 and math.isfinite(self.per_second)):
            message = f"{self.name}: rate = {self.rate}: must be above 0 messages per second"
            raise ConfigurationError(message)

    @property
    def name(self) -> str:
        """Spelling of the stream, such as ``zipf(z=1.4,keys=1000)``."""
        shared = {each.name for each in dataclasses.fields(KeyStream)}
        own = [each.name for each in dataclasses.fields(self) if each.name not in shared]
        return spell(self.family, {name: getattr(self, name) for name in own})

    @property
    def about(self) -> str:
        """Description of the stream in one line."""
        return self.summary

    @property
    def published(self) -> Published | None:
        """Figures of the published data set that the stream imitates; None if there is none."""
        return None

    @property
    def length(self) -> int:
        """Number of messages."""
        return self.messages or 0

    @property
    def per_second(self) -> float:
        """Messages per second of event time."""
        return self.rate or 0.0

    @property
    def random_seed(self) -> np.uint64:
        """Seed of the random numbers: a hash of the stream's name and seed."""
        return np.uint64(hash_strings([f"{self.name} {self.seed}"])[0])

    def batch(self, start: int, stop: int) -> MessageBatch:
        """Generate the messages at offsets `start` to `stop` - 1, at most to the stream's end."""
        ids = self.ids(start, stop)
        end = start + len(ids)
        return MessageBatch(
            ids,
            self.hashes(ids),
            self.counts(ids, start),
            np.arange(start, end) / self.per_second,
            self._senders(start, end),
        )

    def batches(self, size: int = _STEP) -> Iterator[MessageBatch]:
        """Generate the whole stream in batches of `size` messages."""
        for start in range(0, self.length, size):
            yield self.batch(start, start + size)

    def ids(self, start: int, stop: int) -> NDArray[np.int64]:
        """Generate only the key ids of `batch`, int64[n]."""
        return self._ids(start, max(start, min(stop, self.length)))

    def counts(self, ids: NDArray[np.int64], start: int) -> NDArray[np.int64]:
        """Return the weights, int64[n], of messages from offset `start` on with the keys `ids`."""
        del start
        return np.ones(len(ids), dtype=np.int64)

    @abstractmethod
    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        """Generate the key ids at offsets `start` to `stop` - 1."""

    def _senders(self, start: int, stop: int) -> NDArray[np.uint64] | None:
        """Generate the senders at offsets `start` to `stop` - 1; None if there are no senders."""
        del start, stop
        return None

    @property
    @abstractmethod
    def key_count(self) -> int:
        """Number of keys; the ids of keys are below this number."""

    def texts(self, ids: NDArray[np.int64]) -> pa.StringArray:
        """Return the texts of keys, as users see them: here the id of the key."""
        return pc.cast(pa.array(ids), pa.string())

    def hashes(self, ids: NDArray[np.int64]) -> NDArray[np.uint64]:
        """Hash the texts of keys, uint64[n]."""
        return _all_hashes(self)[ids]


@lru_cache(maxsize=2)  # few, because the hashes of 31 million keys take 250 MB
def _all_hashes(stream: KeyStream) -> NDArray[np.uint64]:
    hashes = np.empty(stream.key_count, dtype=np.uint64)
    for start in range(0, len(hashes), _STEP):
        ids = np.arange(start, min(start + _STEP, len(hashes)))
        hashes[start : start + len(ids)] = hash_strings(stream.texts(ids))
    return hashes
