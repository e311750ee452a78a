"""A Zipf stream whose hot keys change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.zipf import Zipf

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


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
