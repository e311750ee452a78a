"""The synthetic streams of the DKG paper: names of countries, one of which is hot."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams.base import KeyStream

if TYPE_CHECKING:
    from numpy.typing import NDArray

HOT_COUNTRY = "Turkey"
"""The hot key of the country streams."""

_PERCENT = 100


@cache
def countries() -> tuple[str, ...]:
    """Return the 204 names of countries and territories, in alphabetical order."""
    text = resources.files("evenkey.core.streams").joinpath("countries.txt").read_text("utf-8")
    return tuple(text.splitlines())


@dataclass(frozen=True)
class CountrySkew(KeyStream):
    """Names of countries: with a chance of `percent` % the hot one, else one of all 204 names.

    These are the streams ``country-skew-r0`` to ``country-skew-r100`` of the DKG paper, table 2.

    Examples
    --------
    >>> stream = CountrySkew(80, messages=10)
    >>> stream.texts(stream.batch(0, 4).ids).to_pylist()
    ['Turkey', 'Turkey', 'Turkey', 'South Africa']
    """

    family: ClassVar[str] = "country-skew"
    summary: ClassVar[str] = "names of 204 countries; with a chance of N % the hot one"
    usual_messages: ClassVar[int] = 10_000_000

    percent: int

    def __post_init__(self) -> None:
        check_fields(self)
        if not 0 <= self.percent <= _PERCENT:
            message = f"{self.family}-r{self.percent}: the skewness must be r0 to r100"
            raise ConfigurationError(message)
        super().__post_init__()

    @property
    def name(self) -> str:
        """Spelling of the stream, such as ``country-skew-r80``."""
        return f"{self.family}-r{self.percent}"

    @property
    def key_count(self) -> int:
        """Number of names, 204."""
        return len(countries())

    def texts(self, ids: NDArray[np.int64]) -> pa.StringArray:
        """Return the names of countries."""
        return pa.array(countries()).take(pa.array(ids))

    def _ids(self, start: int, stop: int) -> NDArray[np.int64]:
        from evenkey.core.streams import _kernels

        ids = np.empty(stop - start, dtype=np.int64)
        tosses = np.empty(stop - start, dtype=np.int64)
        # Two random numbers per message: one from the seed, and one from the seed's complement.
        _kernels.uniform(self.random_seed, start, self.key_count, ids)
        _kernels.uniform(~self.random_seed, start, _PERCENT, tosses)
        hot = countries().index(HOT_COUNTRY)
        return np.where(tosses < self._percent_at(start, stop), hot, ids)

    def _percent_at(self, start: int, stop: int) -> NDArray[np.int64] | int:
        """Return the chance of the hot key, in percent, at offsets `start` to `stop` - 1."""
        del start, stop
        return self.percent


@dataclass(frozen=True)
class CountryHalfSkew(CountrySkew):
    """The messages of `CountrySkew` in the first half, and no hot key in the second half."""

    family: ClassVar[str] = "country-half-skew"
    summary: ClassVar[str] = "country-skew-rN in the first half, country-skew-r0 in the second"

    def _percent_at(self, start: int, stop: int) -> NDArray[np.int64] | int:
        return np.where(np.arange(start, stop) < self.length // 2, self.percent, 0)
