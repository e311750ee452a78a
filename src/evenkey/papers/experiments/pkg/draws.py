"""Scenarios that depend on chance, and are drawn several times."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.hashing import hash_strings
from evenkey.core.streams import generated
from evenkey.papers.experiments import Measurement, Scenario
from evenkey.papers.experiments.timed import MOST

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenkey.core.streams import KeyStream
    from evenkey.papers.experiments.scenario import OnMessages

FEWEST = "_fewest"
"""Suffix of a figure's name for its smallest value over all draws; `MOST` for the largest."""


@dataclass(frozen=True)
class Drawn(Scenario):
    """A measurement that is repeated; its figures are means over all draws.

    Each draw has another stream of the same kind.

    Parameters
    ----------
    draws
        Number of draws.
    """

    names: ClassVar[tuple[str, ...]]
    """Names of the figures of a draw."""

    draws: int

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Draw, and return the mean, the smallest and the largest value of each figure."""
        found = []
        for number in range(self.draws):
            found.append(self.draw(self.dataset.seed * self.draws + number))
            if on_messages is not None:
                on_messages((number + 1) * (self.dataset.messages or 0))
        messages = self.draws * (self.dataset.messages or 0)
        return Measurement({"messages": messages, **over_all(found)})

    @abstractmethod
    def draw(self, seed: int) -> Mapping[str, float]:
        """Measure one draw; `seed` differs from draw to draw."""

    def stream(self, seed: int) -> KeyStream:
        """Return the stream of a draw."""
        return generated(self.dataset.name, messages=self.dataset.messages, seed=seed)


def over_all(found: list[Mapping[str, float]]) -> dict[str, float]:
    """Return the mean, the smallest and the largest value of each figure.

    Examples
    --------
    >>> over_all([{"load": 1.0}, {"load": 3.0}])
    {'load': 2.0, 'load_fewest': 1.0, 'load_most': 3.0}
    """
    figures = {}
    for name in found[0]:
        values = [float(each[name]) for each in found]
        figures[name] = float(np.mean(values))
        figures |= {f"{name}{FEWEST}": min(values), f"{name}{MOST}": max(values)}
    return figures


def hashes(keys: int, seed: int) -> NDArray[np.uint64]:
    """Hash the names of keys, uint64[keys]; the names are others for each seed.

    Examples
    --------
    >>> bool((hashes(3, seed=1) == hashes(3, seed=2)).any())
    False
    """
    return hash_strings([f"{seed} {key}" for key in range(keys)])


def occurrences(groups: NDArray[np.int64]) -> NDArray[np.int64]:
    """Count, for each message, the earlier messages of the same group.

    Examples
    --------
    >>> occurrences(np.array([7, 8, 7, 7])).tolist()
    [0, 0, 1, 2]
    """
    order = np.argsort(groups, kind="stable")
    ordered = groups[order]
    starts = np.flatnonzero(np.diff(ordered, prepend=ordered[:1] - 1))
    counts = np.diff(starts, append=len(groups))
    numbers = np.empty(len(groups), dtype=np.int64)
    numbers[order] = np.arange(len(groups)) - np.repeat(starts, counts)
    return numbers
