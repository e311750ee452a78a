"""The power law that has a given top share and lets a given number of keys occur."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_EXACT = 64  # ranks added up one by one; the error of the rest is then below 1e-14
_GRID = 4001
_STEEPEST = 20.0
_MOST_KEYS = (1 << 31) - 1


class Law(NamedTuple):
    """Rank r of `keys` ranks has a probability in proportion to ``r ** -exponent``."""

    exponent: float
    keys: int


def harmonic(keys: float, exponent: float) -> float:
    """Add up ``r ** -exponent`` over the ranks 1 to `keys`, by Euler and Maclaurin's formula.

    Examples
    --------
    >>> round(harmonic(4, 1.0), 12) == round(1 + 1 / 2 + 1 / 3 + 1 / 4, 12)
    True
    """
    first = float(min(_EXACT, math.floor(keys)))
    head = (np.arange(1, first) ** -exponent).sum()
    flat = math.isclose(exponent, 1, abs_tol=1e-9)
    step = 1 - exponent
    area = math.log(keys / first) if flat else (keys**step - first**step) / step

    def term(power: float) -> float:
        return float(first**-power - keys**-power)

    ends = (first**-exponent + keys**-exponent) / 2
    slope = exponent * term(exponent + 1) / 12
    bend = exponent * (exponent + 1) * (exponent + 2) * term(exponent + 3) / 720
    return float(head + area + ends + slope - bend)


def occurring(messages: int, top: float, keys: float, exponent: float) -> float:
    """Expect how many keys occur in `messages` draws, if the first has probability `top`.

    Key r occurs with probability ``1 - exp(-messages * top * r ** -exponent)`` (Poisson); the
    sum over the ranks is taken as an integral over their logarithms.
    """
    logarithms = np.linspace(0, math.log(keys), _GRID)
    ranks = np.exp(logarithms)
    chances = -np.expm1(-messages * top * ranks**-exponent)
    area = float(np.trapezoid(chances * ranks, logarithms))
    return area + float(chances[0] + chances[-1]) / 2


@cache
def law_of(messages: int, keys: int, top: float, ranks: tuple[int, ...] = (1,)) -> Law:
    """Find the law by which `keys` keys occur and the most frequent has the share `top`.

    A sample of a power law never shows all its keys. So the law has more keys than are to
    occur: as many as make their expected number in `messages` draws the wanted one.

    Parameters
    ----------
    messages
        Length of the sample.
    keys
        Distinct keys that are to occur in it; few enough that some power law has them.
    top
        Share of the most frequent key, between ``1 / keys`` and 1.
    ranks
        Ranks that the most frequent key has in equal parts of the sample.

    Examples
    --------
    >>> law = law_of(messages=22_000_000, keys=2_900_000, top=0.0932)
    >>> f"{law.exponent:.3f}", round(law.keys, -5)
    ('1.067', 24500000)
    """

    def exponent(size: float) -> float:
        def share(power: float) -> float:
            return float(np.mean([rank**-power for rank in ranks])) / harmonic(size, power)

        return _bisect(share, top, 0, _STEEPEST)

    def occur(logarithm: float) -> float:
        size = math.exp(logarithm)
        power = exponent(size)
        return occurring(messages, 1 / harmonic(size, power), size, power)

    size = round(math.exp(_bisect(occur, keys, math.log(keys), math.log(_MOST_KEYS))))
    return Law(exponent(size), size)


def _bisect(rising: Callable[[float], float], goal: float, low: float, high: float) -> float:
    """Find where a function that rises from `low` to `high` reaches `goal`."""
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) < goal:
            low = middle
        else:
            high = middle
    return high
