"""Zipf streams whose hot keys change: for a long time, or in short bursts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.hashing import mix
from evenkey.core.streams.zipf import Zipf

if TYPE_CHECKING:
    from numpy.typing import NDArray

_TOSSES, _KEYS = 1, 2
_BITS = 53  # of a random number between 0 and 1
_ALL = 100  # percent


@dataclass(frozen=True)
class Drift(Zipf):
    """A Zipf stream in which other keys become hot at intervals.

    A rank is drawn for each message as in `Zipf`; rank 0 is the most frequent. In period p, where
    ``p = offset // every``, rank r stands for the key ``(a * r + b + c * p) mod keys``. `a` is
    drawn for each period and is coprime to `keys`, so that each rank stands for a different key.
    `b` is drawn once. `c` is the smallest number of at least ``0.618 * keys`` that is coprime to
    `keys`, so that every key is the hottest key once before any key is the hottest key again.

    Parameters
    ----------
    z, keys
        As for `Zipf`.
    every
        Number of messages after which the hot keys change.

    Examples
    --------
    >>> Drift(z=9.0, keys=10, every=4, messages=16).batch(0, 16).ids.tolist()
    [2, 2, 2, 2, 9, 9, 9, 9, 6, 6, 6, 6, 3, 3, 3, 3]
    """

    family: ClassVar[str] = "drift"
    summary: ClassVar[str] = "zipf whose hot keys change every so many messages"

    every: int

    def __post_init__(self) -> None:
        check_fields(self)
        if self.every < 1:
            message = f"{self.family}: every = {self.every}: must be at least 1 message"
            raise ConfigurationError(message)
        super().__post_init__()

    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        from evenkey.core.streams import _kernels

        ids = super()._ids(start, stop)
        _kernels.deal(~self.random_seed, start, self.every, self.keys, ids)
        return ids


@dataclass(frozen=True)
class Bursts(Zipf):
    """A Zipf stream with bursts: for a short time, a key has a share of the messages of its own.

    The stream is divided into periods of `every` messages. The last `burst` messages of a period
    are a burst: each of them has the burst's key with a probability of `percent` %, and otherwise
    a key drawn as in `Zipf`. Each burst has another key, drawn from all keys with equal
    probability, so it is usually a cold key.

    Parameters
    ----------
    z, keys
        As for `Zipf`.
    every
        Number of messages of a period.
    burst
        Number of messages of a burst, 1 to `every`.
    percent
        Percentage of the burst's messages that have its key, 0 to 100.

    Examples
    --------
    >>> stream = Bursts(z=9.0, keys=100, every=6, burst=3, percent=100, messages=12)
    >>> stream.batch(0, 12).ids.tolist()
    [0, 0, 0, 99, 99, 99, 0, 0, 0, 39, 39, 39]
    """

    family: ClassVar[str] = "bursts"
    summary: ClassVar[str] = "zipf with bursts, each of one key, every so many messages"

    every: int
    burst: int
    percent: float

    def __post_init__(self) -> None:
        check_fields(self)
        if not 1 <= self.burst <= self.every:
            message = (
                f"{self.family}: burst = {self.burst}: must be 1 to {self.every} messages, as "
                f"every = {self.every}"
            )
            raise ConfigurationError(message)
        if not 0 <= self.percent <= _ALL:
            message = f"{self.family}: percent = {self.percent:g}: must be from 0 to 100"
            raise ConfigurationError(message)
        super().__post_init__()

    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        ids = super()._ids(start, stop)
        offsets = np.arange(start, stop)
        offsets = offsets[offsets % self.every >= self.every - self.burst]
        tosses = mix(offsets.astype(np.uint64) ^ self.random_seed, _TOSSES) >> np.uint64(64 - _BITS)
        offsets = offsets[tosses * 2.0**-_BITS * _ALL < self.percent]
        periods = (offsets // self.every).astype(np.uint64)
        hot = mix(periods ^ self.random_seed, _KEYS) % np.uint64(self.keys)
        ids[offsets - start] = hot.astype(np.int64)
        return ids
