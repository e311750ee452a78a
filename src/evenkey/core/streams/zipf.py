"""Zipf streams: few keys take most of the messages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.weighted import Weighted, check_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class Zipf(Weighted):
    """A stream of keys 0, 1, 2, ... with probabilities proportional to ``1 / (key + 1) ** z``.

    Parameters
    ----------
    z
        Exponent, at least 0. With 0, all keys have the same probability.
    keys
        Number of keys.

    Raises
    ------
    ConfigurationError
        A parameter is out of its range.

    Examples
    --------
    >>> Zipf(z=2.0, keys=100, messages=10).batch(0, 10).ids.tolist()
    [0, 0, 0, 0, 1, 0, 0, 0, 0, 4]
    """

    family: ClassVar[str] = "zipf"
    summary: ClassVar[str] = "Zipf-distributed keys with exponent z"

    z: float
    keys: int

    def __post_init__(self) -> None:
        check_fields(self)
        if not (self.z >= 0 and math.isfinite(self.z)):
            message = f"{self.family}: z = {self.z}: must be a number of at least 0"
            raise ConfigurationError(message)
        check_keys(self.family, self.keys)
        super().__post_init__()

    @property
    def key_count(self) -> int:
        """Number of keys."""
        return self.keys

    def weights(self) -> NDArray[np.float64]:
        """Return ``(key + 1) ** -z`` for each key."""
        ranks = np.arange(1, self.keys + 1, dtype=np.float64)
        return np.power(ranks, -self.z, out=ranks)
