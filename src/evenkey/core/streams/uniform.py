"""A stream without skew."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.streams.base import KeyStream
from evenkey.core.streams.weighted import check_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Uniform(KeyStream):
    """A stream in which all keys have the same probability.

    Parameters
    ----------
    keys
        Number of keys.

    Examples
    --------
    >>> Uniform(keys=10, messages=5).batch(0, 5).ids.tolist()
    [7, 8, 5, 8, 8]
    """

    family: ClassVar[str] = "uniform"
    summary: ClassVar[str] = "uniformly distributed keys"

    keys: int

    def __post_init__(self) -> None:
        check_keys(self.family, self.keys)
        super().__post_init__()

    @property
    def key_count(self) -> int:
        """Number of keys."""
        return self.keys

    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        from evenkey.core.streams import _kernels

        ids = np.empty(stop - start, dtype=np.int64)
        _kernels.uniform(self.random_seed, start, self.keys, ids)
        return ids
