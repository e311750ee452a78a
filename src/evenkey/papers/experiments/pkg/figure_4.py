"""PKG, figure 4: local load estimation against a global oracle (question Q2)."""

from __future__ import annotations

from evenkey.papers.experiments import Experiment, Finding, Frame, Scale, Simulation
from evenkey.papers.experiments.pkg.paper_streams import dataset
from evenkey.papers.experiments.pkg.techniques import (
    BY_WORKERS,
    FEW,
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

    def findings(self, frame: Frame) -> list[Finding]:
        table = frame.pivot_table("unbalanced", ["symbol", "workers"], "technique")
        local = table[[f"L{sources}" for sources in _SOURCES]]
        most = local.max(axis="columns")
        ratio, bare = (most / table["G"].clip(lower=FEW)).max(), (most / table["G"]).max()
        above = (most > table["H"]).sum()
        spread = (most / local.min(axis="columns").clip(lower=FEW)).max()
        return [
            Finding(
                "The difference between local and global estimation is always less than one "
                "order of magnitude",
                f"local imbalance is at most {ratio:.1f} times the global one, if that counts as "
                f"{FEW} messages or more; {bare:.0f} times the bare figure",
                ratio < 10,
            ),
            Finding(
                "Local estimation has always a lower imbalance than hashing",
                f"higher in {above} of {len(table)} settings",
                above == 0,
            ),
            Finding(
                "The result is robust to the number of sources",
                f"most and least imbalance over {_SOURCES[0]} to {_SOURCES[-1]} sources differ "
                f"by a factor of at most {spread:.1f}",
                spread < 10,
            ),
        ]
