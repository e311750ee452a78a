"""The base class of experiments: an experiment declares scenarios and presents their results."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, TypeAlias

from evenkey.papers.claims import claims_of
from evenkey.papers.experiments.scale import QUICK
from evenkey.papers.experiments.timed import Timed
from evenkey.reports.pictures import Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.papers.claims import Claim
    from evenkey.papers.experiments.scale import Scale
    from evenkey.papers.experiments.scenario import Scenario
    from evenkey.reports.pictures import Chart, Column, Plot

Frame: TypeAlias = "pd.DataFrame"
"""Results, one row per scenario: its parameters and figures."""

NOT_GIVEN = "The paper draws this; its figures are not given as numbers."
"""The note below a table that shows no figures of the paper."""

_PAPERS = {"pkg": "PKG", "dkg": "DKG", "joins": "Joins"}


@dataclass(frozen=True)
class Way:
    """A way to measure an experiment, such as by simulation or on Spark.

    Parameters
    ----------
    suffix
        Text that is added to the experiment's id.
    title
        Text that is added to the title.
    reference
        Text that is added to the reference.
    note
        Text that is added to the summary: how the figures were measured.
    """

    suffix: str = ""
    title: str = ""
    reference: str = ""
    note: str = ""


class Experiment(ABC):
    """The declaration of a table, figure or section of a paper.

    An experiment has no state and measures nothing itself. `scenarios` declares what to measure,
    `labelled` adds the paper's names to the results, and `tables` and `plots` are functions of the
    labelled results. The paper's statements are in the register of claims, which judges the tables.
    An experiment that is measured in several ways is declared once, with `ways`.

    Parameters
    ----------
    way
        How to measure the experiment: one of `ways`. None: the first of `ways`.
    """

    id: str
    """Name for users: paper, table, figure or section, and number, such as ``pkg-figure-10-a``."""
    title: str
    panels: ClassVar[str] = ""
    """Panels of the paper's figure that the experiment reproduces, such as ``a to d``."""
    summary: str
    """What the experiment shows and how it differs from the paper, in a few sentences."""
    set_up: ClassVar[Sequence[Sequence[str]]] = ()
    """A small table of the set-up below the summary, if sentences would be long: headings first."""
    ways: ClassVar[Sequence[Way]] = (Way(),)
    table: ClassVar[str] = ""
    """Title of the default table, which shows `columns` of the labelled results."""
    columns: ClassVar[Sequence[Column]] = ()
    note: ClassVar[str] = NOT_GIVEN
    """Text below the default table."""
    charts: ClassVar[Sequence[Chart]] = ()
    """The default plots of the labelled results."""

    def __init__(self, way: Way | None = None) -> None:
        self.way = way or self.ways[0]
        self.id = f"{self.id}{self.way.suffix}"
        self.title = f"{self.title}{self.way.title}"
        self.summary = f"{self.summary} {self.way.note}".rstrip()

    @property
    def reference(self) -> str:
        """The name of the paper, and of the table, figure or section in the paper."""
        paper, kind, *item = self.id.removesuffix(self.way.suffix).split("-")
        number = ("." if kind == "section" else " ").join(item)
        name = f"{kind} {number} {self.panels}".rstrip()
        return f"{_PAPERS.get(paper, paper.capitalize())}, {name}{self.way.reference}"

    @abstractmethod
    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Return the scenarios to measure at a scale."""

    @property
    def timed(self) -> bool:
        """Whether the experiment measures times on Spark; otherwise it is simulated."""
        return any(isinstance(scenario, Timed) for scenario in self.scenarios(QUICK))

    def labelled(self, frame: Frame) -> Frame:
        """Add the paper's names and figures to the results."""
        return frame

    def tables(self, frame: Frame) -> Sequence[Table]:
        """Make tables of the labelled results, with the figures that the paper gives as numbers."""
        return [Table(self.table, self.columns, frame, self.note)]

    def plots(self, frame: Frame) -> Sequence[Plot]:
        """Make plots of the labelled results."""
        return [chart.plot(frame) for chart in self.charts]

    @property
    def claims(self) -> Sequence[Claim]:
        """The claims in the register that the tables of the experiment test."""
        return claims_of(self.id)


def order(experiment: str) -> list[tuple[str, int]]:
    """Return the sort key of an experiment's id; numbers in ids are sorted as numbers.

    Examples
    --------
    >>> sorted(["dkg-figure-10", "dkg-figure-9"], key=order)
    ['dkg-figure-9', 'dkg-figure-10']
    """
    parts = re.split(r"(\d+)", experiment)
    return [("", int(part)) if part.isdecimal() else (part, 0) for part in parts]
