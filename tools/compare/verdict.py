"""Decide whether two measured sides differ by more than a side differs from itself."""

from __future__ import annotations

import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Ratio", "Verdict", "judge"]


@dataclass(frozen=True)
class Ratio:
    """The ratio of the seconds of two sides, over all rounds.

    Parameters
    ----------
    middle, least, most
        Median, minimum and maximum of the rounds' ratios.
    """

    middle: float
    least: float
    most: float


@dataclass(frozen=True)
class Verdict:
    """The result of a comparison.

    Parameters
    ----------
    ratio
        Ratio of B to A.
    noise
        Ratio of A to itself, from the control. Its range always includes 1.
    rounds
        Number of rounds.
    """

    ratio: Ratio
    noise: Ratio
    rounds: int

    @property
    def outcome(self) -> str:
        """``faster`` or ``slower`` if all ratios are outside the noise, else ``no difference``."""
        if self.ratio.least > self.noise.most:
            return "slower"
        return "faster" if self.ratio.most < self.noise.least else "no difference"

    def __str__(self) -> str:
        """Return the result as one line of text."""
        ratio, noise = self.ratio, self.noise
        return (
            f"B is {ratio.middle:.2f}x A ({ratio.least:.2f} to {ratio.most:.2f} over "
            f"{self.rounds} rounds; noise {noise.least:.2f} to {noise.most:.2f}): {self.outcome}"
        )


def judge(first: Sequence[float], control: Sequence[float], second: Sequence[float]) -> Verdict:
    """Compare the seconds of A, of A once more, and of B, each with one entry per round.

    Examples
    --------
    >>> print(judge([2.0, 2.0, 2.0], [1.94, 2.0, 2.04], [1.96, 2.06, 2.14]))
    B is 1.03x A (0.98 to 1.07 over 3 rounds; noise 0.97 to 1.02): no difference
    >>> judge([2.0, 2.0, 2.0], [1.94, 2.0, 2.04], [2.06, 2.06, 2.14]).outcome
    'slower'
    """
    noise = _ratio(control, first)
    # By chance all ratios of the control can be above 1, or all below.
    noise = Ratio(noise.middle, min(noise.least, 1.0), max(noise.most, 1.0))
    return Verdict(_ratio(second, first), noise, len(first))


def _ratio(over: Sequence[float], under: Sequence[float]) -> Ratio:
    ratios = [one / other for one, other in zip(over, under, strict=True)]
    return Ratio(statistics.median(ratios), min(ratios), max(ratios))
