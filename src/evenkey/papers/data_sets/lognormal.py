"""Streams whose keys are rounded samples of a log-normal distribution."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import Published, Weighted

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PAPER = "PKG paper, table 1"
_MESSAGES = 10_000_000


class _Parameters(NamedTuple):
    mu: float
    sigma: float
    published: Published


_PARAMETERS = {
    1: _Parameters(
        1.789, 2.366, Published("log-normal keys, LN1", _PAPER, _MESSAGES, 14.71, 16_000)
    ),
    2: _Parameters(2.245, 1.133, Published("log-normal keys, LN2", _PAPER, _MESSAGES, 7.01, 1_100)),
}


@dataclass(frozen=True)
class Lognormal(Weighted):
    """A stream whose keys are log-normal samples, rounded to the nearest whole number.

    Key k has the probability of the interval from ``k - 1/2`` to ``k + 1/2``. The tail is cut off
    at the largest k with ``P(key >= k) > 1e-7``: less than one of the paper's 10 million messages
    is expected to have a larger key. The number of distinct keys is about that of the paper: 10
    million messages have 16,400 keys in ``lognormal-1`` and 1,100 in ``lognormal-2``.

    Parameters
    ----------
    number
        1 or 2: LN1 (mu = 1.789, sigma = 2.366) or LN2 (2.245, 1.133) of the PKG paper, section
        6.1. Both come from the social network Orkut.

    Raises
    ------
    ConfigurationError
        `number` is neither 1 nor 2.

    Examples
    --------
    >>> Lognormal(1, messages=8).batch(0, 8).ids.tolist()
    [2, 0, 24, 1, 3, 0, 4, 11]
    """

    family: ClassVar[str] = "lognormal"
    summary: ClassVar[str] = "synthetic: log-normal samples, rounded"
    usual_messages: ClassVar[int] = _MESSAGES
    fixed: ClassVar[dict[str, dict[str, str]]] = {
        f"lognormal-{number}": {"number": str(number)} for number in _PARAMETERS
    }

    number: int

    def __post_init__(self) -> None:
        check_fields(self)
        if self.number not in _PARAMETERS:
            message = f"lognormal-{self.number}: there are lognormal-1 and lognormal-2"
            raise ConfigurationError(message)
        super().__post_init__()

    @property
    def name(self) -> str:
        """Spelling of the stream, such as ``lognormal-1``."""
        return f"{self.family}-{self.number}"

    @property
    def published(self) -> Published:
        """The figures that the PKG paper gives for the data set."""
        return _PARAMETERS[self.number].published

    @property
    def key_count(self) -> int:
        """Number of keys, after the tail is cut off."""
        # A standard normal sample exceeds 5.1993 with probability 1e-7.
        mu, sigma, _ = _PARAMETERS[self.number]
        return int(math.exp(mu + 5.1993 * sigma) + 0.5) + 1

    def weights(self) -> NDArray[np.float64]:
        """Return the probability of each key, float64[keys]."""
        mu, sigma, _ = _PARAMETERS[self.number]
        bounds = (np.log(np.arange(self.key_count) + 0.5) - mu) / (sigma * math.sqrt(2))
        above = np.fromiter(map(math.erfc, bounds), np.float64, len(bounds)) / 2
        return -np.diff(above, prepend=1.0)
