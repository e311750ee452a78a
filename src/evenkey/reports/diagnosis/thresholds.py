"""The limits that a stage must pass to be reported by a diagnosis."""

from __future__ import annotations

from dataclasses import dataclass

from evenkey.core.checking import number


@dataclass(frozen=True)
class Thresholds:
    """Limits that a stage must pass to be reported; other stages are listed with the reason.

    Parameters
    ----------
    least_fullness
        Minimum ratio of the largest task's rows to the mean rows of the stage's tasks. An imbalance
        below this ratio is about that of random placement.
    least_gain
        Minimum speedup of the stage by a change, Spark's own or evenkey's.
    least_seconds
        Minimum wall time saved, over all runs of the stage, in seconds.

    Raises
    ------
    ConfigurationError
        A limit is not a number, `least_seconds` is below 0, or another limit is below 1.

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
