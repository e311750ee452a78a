"""PKG, section 4: the loads of the workers of applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale
from evenkey.papers.experiments.pkg.sections.application_state import (
    APPLICATIONS,
    ApplicationLoads,
)
from evenkey.papers.experiments.pkg.sections.balls_in_bins import Placement
from evenkey.papers.experiments.pkg.techniques import PKG
from evenkey.reports.pictures import Column, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments.pkg.draws import Drawn

_NAMES = {"kg": "KG", "pkg": "PKG", PKG: "PKG", "sg": "SG"}
_TITLES = {
    "word-count": "Word count and heavy hitters",
    "naive-bayes": "Naive Bayes",
    "decision-tree": "Decision tree",
}
_RECORDS = 2_000


class ApplicationBalance(Experiment):
    id = "pkg-section-4-2"
    title = "Balance of applications under KG, PKG and SG"
    summary = (
        "Messages of each worker. Applications: as in PKG, section 4, with 2,000 records of one "
        "source, and the first epoch of the decision tree; word count and heavy hitters send the "
        "same words. Stream of the errors: ZF with z = 1 and K = 100,000, as for the errors of "
        "heavy hitters in section 4, but 200,000 messages in place of 500,000; means over 2 "
        "draws. Its most frequent key has 8.3 %, so that two of up to 24 workers can hold it."
    )

    def scenarios(self, scale: Scale) -> list[Drawn]:
        zipf = Dataset("zipf(z=1,keys=100000)", scale.messages(200_000))
        return [
            *(
                ApplicationLoads(
                    Dataset(APPLICATIONS[application], _RECORDS), 1, application, grouping, workers
                )
                for application in _TITLES
                for grouping in ("kg", "pkg", "sg")
                for workers in (5, 10, 20, 50)
            ),
            *(
                Placement(zipf, 2, rule, workers)
                for rule in ("kg", PKG, "sg")
                for workers in (10, 20, 50, 100)
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        each = frame["messages"] / frame["draws"]
        grouping = frame["grouping"].fillna(frame["rule"])
        return frame.assign(
            title=frame["application"].map(_TITLES),
            method=grouping.map(_NAMES),
            part=frame["imbalance"] / each,
            over_mean=1 + frame["imbalance"] / each * frame["workers"],
        )

    def tables(self, frame: Frame) -> list[Table]:
        method, workers = Column("method", "Method"), Column("workers", "W", "d")
        return [
            Table(
                "Loads of applications",
                [
                    Column("title", "Application"),
                    method,
                    workers,
                    Column("max_over_mean", "Maximum load, over the mean", ".3f"),
                ],
                frame[frame["kind"] == ApplicationLoads.kind],
            ),
            Table(
                "Loads of the stream of the errors",
                [
                    method,
                    workers,
                    Column("over_mean", "Maximum load, over the mean", ".3f"),
                    Column("part", "I(m) / m", ".1e"),
                ],
                frame[frame["kind"] == Placement.kind],
            ),
        ]
