"""PKG, section 4: the state and the errors of applications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale
from evenkey.papers.experiments.pkg.sections.application_state import (
    APPLICATIONS,
    CAPACITY,
    CLASSES,
    FEATURES,
    TOP,
    ApplicationState,
)
from evenkey.papers.experiments.pkg.sections.hitter_errors import HitterErrors
from evenkey.papers.experiments.pkg.sections.routing_entries import RoutingEntries
from evenkey.papers.experiments.timed import MOST
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments.pkg.draws import Drawn

_NAMES = {"kg": "KG", "pkg": "PKG", "sg": "SG"}
_TITLES = {
    "word-count": "Word count",
    "naive-bayes": "Naive Bayes",
    "heavy-hitters": "Heavy hitters",
    "decision-tree": "Decision tree",
}
_RECORDS = 5_000


class Applications(Experiment):
    id = "pkg-section-4"
    title = "State and errors of applications under KG, PKG and SG"
    summary = (
        "Applications run in one process with one source, means over 3 draws. Documents have 12 "
        "words of 1,000; word count and naive Bayes count them, heavy hitters keeps a SpaceSaving "
        f"summary of {CAPACITY} counters on each worker for the {TOP} hottest words. The decision "
        f"tree has D = {FEATURES} features, C = {CLASSES} classes, and L leaves after two epochs; "
        "the figures are those of the third epoch. Errors of heavy hitters: 500,000 messages of "
        "ZF with z = 1 and K = 100,000, the 100 hottest keys, summaries of 200 counters."
    )
    charts = (
        Chart(
            "State of all workers",
            Axis("workers", "Workers, W"),
            Axis("state", "Counters or histograms", "log"),
            "method",
            panels=Grid("title"),
        ),
    )

    def scenarios(self, scale: Scale) -> list[Drawn]:
        draws = 3 if scale.whole else 1
        return [
            *(
                ApplicationState(Dataset(stream, _RECORDS), draws, application, grouping, workers)
                for application, stream in APPLICATIONS.items()
                for grouping in _NAMES
                for workers in (5, 10, 20, 50)
            ),
            *(
                RoutingEntries(
                    Dataset(f"uniform(keys={FEATURES})", FEATURES * _RECORDS),
                    draws,
                    "pkg",
                    workers,
                    1,
                )
                for workers in (5, 10, 20, 50)
            ),
            *(
                HitterErrors(
                    Dataset("zipf(z=1,keys=100000)", scale.messages(500_000, quick=0.2)),
                    draws,
                    grouping,
                    workers,
                    100,
                    200,
                )
                for grouping in _NAMES
                for workers in (10, 20, 50, 100)
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(
            method=frame["grouping"].map(_NAMES),
            title=frame["application"].map(_TITLES),
            over_cells=frame["state"] / frame["cells"],
            most_terms=frame[f"terms{MOST}"],
        )

    def tables(self, frame: Frame) -> list[Table]:
        state = frame[frame["kind"] == ApplicationState.kind]
        method, workers = Column("method", "Method"), Column("workers", "W", "d")
        return [
            Table(
                "State of all workers",
                [
                    Column("title", "Application"),
                    method,
                    workers,
                    Column("state", "Counters or histograms", ",d"),
                ],
                state,
            ),
            Table(
                "Histograms of the decision tree",
                [
                    method,
                    workers,
                    Column("cells", "D C L", ",d"),
                    Column("over_cells", "Histograms over D C L", ".3f"),
                ],
                state[state["application"] == "decision-tree"],
                "So many histograms are merged for each feature, class and leaf.",
            ),
            Table(
                "Workers of a feature whose messages come in random order",
                [workers, Column("workers_of_a_key", "Workers of a feature, mean", ".3f")],
                frame[frame["kind"] == RoutingEntries.kind],
                f"PKG on {FEATURES} equally frequent keys. In the rows of the decision tree the "
                "features of each record come in the same order.",
            ),
            Table(
                "Errors of heavy hitters",
                [
                    method,
                    workers,
                    Column("error", "Error, messages", ",.2f"),
                    Column("bound", "Bound of the error, messages", ",.2f"),
                    Column("most_terms", "Terms of the bound, most", "d"),
                ],
                frame[frame["kind"] == HitterErrors.kind],
                "An error is the difference between the count that is found and the true one; the "
                "bound is the sum of its terms, one for each summary of a worker that may have it.",
            ),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        state = frame[frame["kind"] == ApplicationState.kind]
        return [chart.plot(state) for chart in self.charts]
