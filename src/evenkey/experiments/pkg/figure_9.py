"""PKG, figure 9: more choices than two (question Q4)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.pkg.streams import zipf
from evenkey.experiments.pkg.techniques import BALANCED, IMBALANCE, pkg
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["Choices"]

_Z = 1.2
_KEYS = 1_000_000
_CHOICES = (2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 30, 40, 50, 75, 100)
_PAPER = {
    5: "4",
    10: "not given",
    40: "9",
    50: "a few tens",
    100: "a few tens",
}


class Choices(Experiment):
    """Average imbalance against the number of choices a key has."""

    id: ClassVar[str] = "pkg-figure-9"
    title: ClassVar[str] = "More choices restore balance"
    reference: ClassVar[str] = "PKG, figure 9"
    summary: ClassVar[str] = (
        "ZF with z = 1.2 and K = 1,000,000, of which the most frequent key takes 19 %: two choices "
        "are too few for most numbers of workers. 5 sources with local load estimation; hashes "
        "are independent, as in the paper, so that some of a key's choices meet."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Every number of choices, up to the number of workers."""
        stream = zipf(_Z, _KEYS, scale)
        return [
            pkg(stream, workers, estimation="local", grouping=f"pkg(choices={d},variant=paper)")
            for workers in _PAPER
            for d in _CHOICES
            if d <= workers
        ]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """Choices that are enough, the paper's and ours."""
        rows = _enough(frame).assign(paper=lambda row: row["workers"].map(_PAPER))
        columns = [
            Column("workers", "W", "d"),
            Column("choices", "Choices, d, ours", "d"),
            Column("paper", "Choices, d, paper"),
            Column("average_imbalance_fraction", "Average imbalance then", ".1e"),
            Column("dist_cost", "Workers a key lies on, mean", ".2f"),
        ]
        title = f"Fewest choices with an average imbalance below {BALANCED:g}"
        return [Table(title, columns, rows)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A line a number of workers."""
        figure = chart(
            _points(frame),
            x=Axis("choices", "Choices, d", "log"),
            y=Axis("average_imbalance_fraction", IMBALANCE, "log"),
            group="workers",
            legend="Workers, W",
        )
        return [Plot("Average imbalance against choices", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Balance is restored."""
        enough = _enough(frame).set_index("workers")["choices"]
        told = ", ".join(f"{choices} for {workers}" for workers, choices in enough.items())
        points = _points(frame).set_index(["workers", "choices"])["average_imbalance_fraction"]
        named = [points[5, 4], points[40, 9], points[50, 30], points[100, 30]]
        return [
            Finding(
                "Balance is restored with more choices: four for 5 workers, nine for 40, a few "
                "tens for 50 or 100",
                f"average imbalance is at most {max(named):.1e} with 4, 9, 30, 30; the fewest "
                f"choices that balance: {told}",
                max(named) < BALANCED,
            )
        ]


def _points(frame: pd.DataFrame) -> pd.DataFrame:
    choices = frame["grouping"].str.extract(r"choices=(\d+)", expand=False).astype(int)
    return frame.assign(choices=choices)


def _enough(frame: pd.DataFrame) -> pd.DataFrame:
    """Per number of workers, the row of the fewest choices that balance it."""
    points = _points(frame).sort_values("choices")
    balanced = points[points["average_imbalance_fraction"] < BALANCED]
    return balanced.groupby("workers").head(1).sort_values("workers")
