"""Zipf streams: key number r occurs in proportion to 1 / (r + 1) ** z."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.errors import ConfigurationError
from evenkey.streams.base import KeyStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["Drift", "Uniform", "Zipf"]


@dataclass(frozen=True)
class Zipf(KeyStream):
    """Keys 0, 1, 2, ... with probability in proportion to ``1 / (key + 1) ** z``.

    Parameters
    ----------
    z
        Exponent, at least 0; 0 is uniform.
    keys
        How many keys there are.

    Examples
    --------
    >>> Zipf(z=2.0, keys=100, messages=10).batch(0, 10).ids.tolist()
    [0, 0, 0, 0, 1, 0, 0, 0, 19, 4]
    """

    family: ClassVar[str] = "zipf"
    summary: ClassVar[str] = "Zipf-distributed keys with exponent z"

    z: float
    keys: int

    def __post_init__(self) -> None:
        if not self.z >= 0:
            message = f"{self.family}: z = {self.z}: must be at least 0"
            raise ConfigurationError(message)
        _check_keys(self.family, self.keys)
        super().__post_init__()

    @property
    def key_count(self) -> int:
        return self.keys

    def probabilities(self) -> NDArray[np.float64]:
        """float64[keys], probability of each rank; adds up to 1."""
        weights = np.arange(1, self.keys + 1, dtype=np.float64) ** -self.z
        return weights / weights.sum()

    @cached_property
    def _alias_table(self) -> tuple[NDArray[np.uint32], NDArray[np.int32]]:
        from evenkey.streams import _kernels

        chance = np.empty(self.keys, dtype=np.uint32)
        alias = np.empty(self.keys, dtype=np.int32)
        _kernels.build_alias(self.probabilities(), chance, alias)
        return chance, alias

    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        from evenkey.streams import _kernels

        ids = np.empty(stop - start, dtype=np.int64)
        _kernels.sample_alias(self._random_seed, start, *self._alias_table, ids)
        return ids


@dataclass(frozen=True)
class Drift(Zipf):
    """A Zipf stream whose hot keys change: ranks are dealt to other keys every so often.

    In period ``p = offset // every`` rank r is key ``(r + 7919 * p) mod keys``, so that each
    period's hottest keys were cold in the one before.

    Parameters
    ----------
    every
        Messages after which the hot keys change.
    """

    family: ClassVar[str] = "drift"
    summary: ClassVar[str] = "zipf whose hot keys change every so many messages"
    _STEP: ClassVar[int] = 7919

    every: int

    def __post_init__(self) -> None:
        if self.every < 1:
            message = f"drift: every = {self.every}: must be at least 1 message"
            raise ConfigurationError(message)
        super().__post_init__()

    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        periods = np.arange(start, stop) // self.every
        return (super()._ids(start, stop) + self._STEP * periods) % self.keys


@dataclass(frozen=True)
class Uniform(KeyStream):
    """All keys alike.

    Parameters
    ----------
    keys
        How many keys there are.
    """

    family: ClassVar[str] = "uniform"
    summary: ClassVar[str] = "uniformly distributed keys"

    keys: int

    def __post_init__(self) -> None:
        _check_keys(self.family, self.keys)
        super().__post_init__()

    @property
    def key_count(self) -> int:
        return self.keys

    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        from evenkey.streams import _kernels

        ids = np.empty(stop - start, dtype=np.int64)
        _kernels.uniform(self._random_seed, start, self.keys, ids)
        return ids


def _check_keys(family: str, keys: int) -> None:
    if keys < 1:
        message = f"{family}: keys = {keys}: there must be at least 1 key"
        raise ConfigurationError(message)
