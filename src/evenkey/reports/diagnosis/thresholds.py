"""The limits from which on a diagnosis reports a stage."""

from __future__ import annotations

from dataclasses import dataclass

from evenkey.core.checking import number


@dataclass(frozen=True)
class Thresholds:
    """A stage is reported if it passes all of these; the others are listed with the reason.

    Parameters
    ----------
    least_fullness
        Least ratio of the largest task's rows to the mean of the stage's tasks. Below it, the
        imbalance is about that of random placement.
    least_gain
        Least speedup of the stage by evenkey.
    least_seconds
        Least wall time saved, in seconds, in all runs of the stage together.

    Raises
    ------
    ConfigurationError
        One of them is no number, or below 1 (of seconds: below 0).

    Examples
    --------
    >>> Thresholds(least_gain=10).least_seconds
    1.0
    """

    least_fullness: float = 1.5
    least_gain: float = 1.2
    least_seconds: float = 1.0

    def __post_init__(self) -> None:
        number("least_fullness", self.least_fullness, least=1)
        number("least_gain", self.least_gain, least=1)
        number("least_seconds", self.least_seconds, least=0)
