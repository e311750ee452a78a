"""From where on a stage is named: all limits of the diagnosis, in one place."""

from __future__ import annotations

from dataclasses import dataclass

from evenkey.core.checking import number


@dataclass(frozen=True)
class Thresholds:
    """A stage is named if it passes all of these; the report lists the others with the reason.

    Parameters
    ----------
    least_fullness
        Rows of the fullest task over the mean of the stage's tasks, at least. Below, keys lie
        about as evenly as chance places them.
    least_gain
        The stage's time over what it would be with evenkey, at least.
    least_seconds
        Wall time that it would save, in seconds, in all runs of the stage together, at least.

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
