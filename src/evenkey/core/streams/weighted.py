"""Streams whose keys are drawn independently, each with its own probability."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.base import KeyStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

MOST_KEYS = (1 << 31) - 1
"""Maximum number of keys of a generated stream, because tables hold 32-bit ids."""


@dataclass(frozen=True)
class Weighted(KeyStream):
    """A stream that draws each message's key from a fixed distribution.

    For any number of keys, a draw takes one random number and one lookup in an alias table (Walker
    1977; the table is built by Vose's method, 1991). The table takes 8 bytes per key.
    """

    @abstractmethod
    def weights(self) -> NDArray[np.float64]:
        """Return a weight of each key, float64[keys], to which its probability is proportional."""

    def probabilities(self) -> NDArray[np.float64]:
        """Return the probability of each key, float64[keys]; the probabilities add up to 1."""
        weights = self.weights()
        weights /= weights.sum()
        return weights

    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        return self._draw(self.random_seed, start, stop)

    def _draw(self, seed: np.uint64, start: int, stop: int) -> NDArray[np.int64]:
        """Draw the keys of messages `start` to `stop` - 1, with a seed."""
        from evenkey.core.streams import _kernels

        ids = np.empty(stop - start, dtype=np.int64)
        _kernels.sample_alias(seed, start, *_alias_table(self), ids)
        return ids


@lru_cache(maxsize=2)
def _alias_table(stream: Weighted) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
    from evenkey.core.streams import _kernels

    weights = stream.weights()
    chance = np.empty(len(weights), dtype=np.uint32)
    alias = np.empty(len(weights), dtype=np.int32)
    _kernels.build_alias(weights, chance, alias)
    return chance, alias


def check_keys(family: str, keys: int) -> None:
    """Raise a ConfigurationError if the number of keys is not from 1 to `MOST_KEYS`."""
    if not 1 <= keys <= MOST_KEYS:
        message = f"{family}: keys = {keys}: there must be 1 to {MOST_KEYS} keys"
        raise ConfigurationError(message)
