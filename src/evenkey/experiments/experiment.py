"""What every experiment is: declared scenarios, and functions of the frame of their results."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.scale import QUICK

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from plotly.graph_objects import Figure

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario
    from evenkey.experiments.table import Table

__all__ = ["NOT_GIVEN", "Experiment", "Finding", "Plot", "order"]

NOT_GIVEN = "The paper draws this; its figures are not given as numbers."
"""The note of a table that has no figures of the paper beside ours."""


@dataclass(frozen=True)
class Plot:
    """A plot with what stands above and below it."""

    title: str
    figure: Figure
    note: str = ""


@dataclass(frozen=True)
class Finding:
    """A statement of the paper beside what was measured.

    Parameters
    ----------
    paper
        What the paper says.
    ours
        What was measured.
    holds
        Whether the two agree.
    """

    paper: str
    ours: str
    holds: bool

    def __post_init__(self) -> None:
        # Comparisons of columns give NumPy's truth values, which JSON cannot hold.
        object.__setattr__(self, "holds", bool(self.holds))


class Experiment(ABC):
    """A table or figure of a paper, declared.

    It has no state and does no work: `scenarios` says what to measure; `tables`, `plots` and
    `findings` are functions of the results, a data frame with a row a scenario.
    """

    id: ClassVar[str]
    """How users name it."""
    title: ClassVar[str]
    reference: ClassVar[str]
    """Paper, and the table or figure in it."""
    summary: ClassVar[str]
    """What it shows, and where it departs from the paper: a few sentences."""

    @abstractmethod
    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """What to measure at a scale."""

    @property
    def timed(self) -> bool:
        """Whether a clock measures it, on Spark; otherwise it is simulated."""
        return any(scenario.alone for scenario in self.scenarios(QUICK))

    @abstractmethod
    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """Tables of the results, with the paper's figures where it gives numbers."""

    @abstractmethod
    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """Plots of the results."""

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """What the paper says in words, beside the results."""
        del frame
        return ()


def order(experiment: str) -> list[tuple[str, int]]:
    """Make the key that sorts experiments' ids: words as words and numbers as numbers.

    Examples
    --------
    >>> sorted(["dkg-figure-10", "dkg-figure-9"], key=order)
    ['dkg-figure-9', 'dkg-figure-10']
    """
    parts = re.split(r"(\d+)", experiment)
    return [("", int(part)) if part.isdecimal() else (part, 0) for part in parts]
