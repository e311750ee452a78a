"""Find the power law with a given share of the hottest key and number of keys that occur."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

_EXACT = 64  # ranks added up one by one; the error of approximating the others is below 1e-14
_GRID = 4001
_STEEPEST = 20.0
_MOST_KEYS = (1 << 31) - 1


class Law(NamedTuple):
    """A power law: rank r, from 1 to `keys`, has a probability proportional to r ** -exponent."""

    exponent: float
    keys: int


def harmonic(keys: float, exponent: float) -> float:
    """Add up ``r ** -exponent`` over the ranks 1 to `keys`, by the Euler-Maclaurin formula.

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
    """Estimate how many keys occur in `messages` draws, if the first key has probability `top`.

    The key of rank r occurs with probability ``1 - exp(-messages * top * r ** -exponent)``
    (Poisson). The sum of these probabilities is computed as an integral over the logarithms of
    the ranks.
    """
    logarithms = np.linspace(0, math.log(keys), _GRID)
    ranks = np.exp(logarithms)
    chances = -np.expm1(-messages * top * ranks**-exponent)
    area = float(np.trapezoid(chances * ranks, logarithms))
    return area + float(chances[0] + chances[-1]) / 2


@cache
def law_of(messages: int, keys: int, top: float, ranks: tuple[int, ...] = (1,)) -> Law:
    """Find the power law for which `keys` keys occur and the hottest key has the share `top`.

    Not all keys of a power law occur in a sample. So the law has more keys than `keys`: as many
    that the expected number of distinct keys in `messages` draws is `keys`.

    Parameters
    ----------
    messages
        Length of the sample.
    keys
        Number of distinct keys that should occur in the sample. A power law with this number must
        exist.
    top
        Share of the most frequent key, between ``1 / keys`` and 1.
    ranks
        Rank of the most frequent key in each part of the sample, for a sample of equally long
        parts. ``(1,)``: the sample has one part, in which this key has rank 1.

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
    """Find the argument between `low` and `high` at which a rising function reaches `goal`."""
    for _ in range(60):
        middle = (low + high) / 2
        if rising(middle) < goal:
            low = middle
        else:
            high = middle
    return high
