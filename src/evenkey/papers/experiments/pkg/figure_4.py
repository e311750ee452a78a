"""PKG, figure 4: local load estimation against a global oracle (question Q2)."""

from __future__ import annotations

from evenkey.papers.experiments import Experiment, Frame, Scale, Simulation
from evenkey.papers.experiments.pkg.paper_streams import dataset
from evenkey.papers.experiments.pkg.techniques import (
    BY_WORKERS,
    IMBALANCE,
    WORKERS,
    hashing,
    imbalance_table,
    named,
    pkg,
)
from evenkey.reports.pictures import Chart, Column, Grid, Table

_SYMBOLS = ("TW", "WP", "CT", "LN1", "LN2")
_SOURCES = (5, 10, 15, 20)


class LocalEstimation(Experiment):
    id = "pkg-figure-4"
    title = "Local load estimation against a global oracle"
    summary = (
        "G knows the workers' true loads; in L5, L10, L15, L20 each of that many sources knows "
        "only what it sent itself; H is key grouping. Streams stand in for the paper's data sets."
    )

    charts = (
        Chart(
            "Average imbalance by technique and workers",
            BY_WORKERS,
            IMBALANCE,
            "technique",
            panels=Grid("symbol"),
            kind="bars",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        return [
            scenario
            for stream in (dataset(symbol, scale) for symbol in _SYMBOLS)
            for workers in WORKERS
            for scenario in (
                pkg(stream, workers, estimation="global"),
                *(pkg(stream, workers, estimation="local", sources=each) for each in _SOURCES),
                hashing(stream, workers),
            )
        ]

    def labelled(self, frame: Frame) -> Frame:
        return named(frame)

    def tables(self, frame: Frame) -> list[Table]:
        setting = [Column("symbol", "Data set"), Column("workers", "W", "d")]
        return [imbalance_table(frame, setting, "technique")]
