"""What every experiment is: declared scenarios, and functions of the frame of their results."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from evenkey.papers.experiments.scale import QUICK
from evenkey.reports.pictures import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.papers.experiments.scale import Scale
    from evenkey.papers.experiments.scenario import Scenario
    from evenkey.reports.pictures import Chart, Column, Plot

Frame: TypeAlias = "pd.DataFrame"
"""Results, one row per scenario: its parameters and figures."""

NOT_GIVEN = "The paper draws this; its figures are not given as numbers."
"""The note of a table that has no figures of the paper beside ours."""

_PAPERS = {"pkg": "PKG", "dkg": "DKG", "joins": "Joins"}


@dataclass(frozen=True)
class Way:
    """A way to measure what an experiment declares.

    Parameters
    ----------
    suffix
        Of the experiment's id.
    title
        What it adds to the title.
    reference
        What it adds to the reference.
    note
        What it adds to the summary: where figures come from.
    """

    suffix: str = ""
    title: str = ""
    reference: str = ""
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

    It has no state and does no work: `scenarios` says what to measure, `labelled` adds the
    paper's names to the results, and `tables`, `plots` and `findings` are functions of what that
    gives. One that is measured in several ways is declared once, with `ways`.

    Parameters
    ----------
    way
        How it is measured, one of `ways`; None is the first.
    """

    id: str
    """How users name it: paper, table or figure, number; ``pkg-figure-10-a``."""
    title: str
    panels: ClassVar[str] = ""
    """Panels of the figure that it shows, such as ``a to d``."""
    summary: str
    """What it shows, and where it departs from the paper: a few sentences."""
    ways: ClassVar[Sequence[Way]] = (Way(),)
    table: ClassVar[str] = ""
    """Title of its table, where that shows `columns` of the labelled results."""
    columns: ClassVar[Sequence[Column]] = ()
    note: ClassVar[str] = NOT_GIVEN
    """What stands below the table."""
    charts: ClassVar[Sequence[Chart]] = ()
    """Its plots, where they need no more than to be declared."""

    def __init__(self, way: Way | None = None) -> None:
        self.way = way or self.ways[0]
        self.id = f"{self.id}{self.way.suffix}"
        self.title = f"{self.title}{self.way.title}"
        self.summary = f"{self.summary} {self.way.note}".rstrip()

    @property
    def reference(self) -> str:
        """Paper, and the table or figure in it."""
        paper, *item = self.id.removesuffix(self.way.suffix).split("-")
        name = " ".join([*item, self.panels]).rstrip()
        return f"{_PAPERS.get(paper, paper.capitalize())}, {name}{self.way.reference}"

    @abstractmethod
    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """What to measure at a scale."""

    @property
    def timed(self) -> bool:
        """Whether a clock measures it, on Spark; otherwise it is simulated."""
        return any(scenario.alone for scenario in self.scenarios(QUICK))

    def labelled(self, frame: Frame) -> Frame:
        """Add the paper's names and figures to the results."""
        return frame

    def tables(self, frame: Frame) -> Sequence[Table]:
        """Tables of the labelled results, with the paper's figures where it gives numbers."""
        return [Table(self.table, self.columns, frame, self.note)]

    def plots(self, frame: Frame) -> Sequence[Plot]:
        """Plots of the labelled results."""
        return [chart.plot(frame) for chart in self.charts]

    def findings(self, frame: Frame) -> Sequence[Finding]:
        """What the paper says in words, beside the labelled results."""
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
