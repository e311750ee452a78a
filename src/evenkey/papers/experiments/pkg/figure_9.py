"""PKG, figure 9: more choices than two (question Q4)."""

from __future__ import annotations

from evenkey.papers.experiments import NOT_GIVEN, Experiment, Frame, Scale, Simulation, spelled
from evenkey.papers.experiments.pkg.paper_streams import zipf
from evenkey.papers.experiments.pkg.techniques import BALANCED, IMBALANCE, pkg
from evenkey.reports.pictures import Axis, Chart, Column, Table

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
    id = "pkg-figure-9"
    title = "More choices restore balance"
    summary = (
        "ZF with z = 1.2 and K = 1,000,000, of which the most frequent key takes 19 %: two choices "
        "are too few for most numbers of workers. 5 sources with local load estimation; hashes "
        "are independent, as in the paper, so that some of a key's choices meet."
    )

    charts = (
        Chart(
            "Average imbalance against choices",
            Axis("choices", "Choices, d", "log"),
            IMBALANCE,
            "workers",
            "Workers, W",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        stream = zipf(_Z, _KEYS, scale)
        return [
            pkg(
                stream,
                workers,
                estimation="local",
                grouping=f"pkg(choices={d},variant=paper)",
                replication=True,
            )
            for workers in _PAPER
            for d in _CHOICES
            if d <= workers
        ]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(choices=spelled(frame["grouping"], "choices").astype(int))

    def tables(self, frame: Frame) -> list[Table]:
        rows = _enough(frame).assign(paper=lambda row: row["workers"].map(_PAPER))
        columns = [
            Column("workers", "W", "d"),
            Column("choices", "Choices, d, ours", "d"),
            Column("paper", "Choices, d, paper"),
            Column("average_imbalance_fraction", "Average imbalance then", ".1e"),
            Column("dist_cost", "Workers a key lies on, mean", ".2f"),
        ]
        title = f"Fewest choices with an average imbalance below {BALANCED:g}"
        choices = [Column("choices", "Choices, d", "d")]
        imbalance = Column(IMBALANCE.column, "W = {}", ".1e")
        return [
            Table(title, columns, rows),
            Table.crossed("Average imbalance", frame, choices, "workers", imbalance, NOT_GIVEN),
        ]


def _enough(frame: Frame) -> Frame:
    """Return, for each number of workers, the row with the fewest choices that are balanced."""
    points = frame.sort_values("choices")
    balanced = points[points["average_imbalance_fraction"] < BALANCED]
    return balanced.groupby("workers").head(1).sort_values("workers")
