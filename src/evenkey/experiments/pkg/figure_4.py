"""PKG, figure 4: local load estimation against a global oracle (question Q2)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import NOT_GIVEN, Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, Grid, chart
from evenkey.experiments.pkg.streams import dataset
from evenkey.experiments.pkg.techniques import FEW, IMBALANCE, WORKERS, hashing, named, pkg
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["LocalEstimation"]

_SYMBOLS = ("TW", "WP", "CT", "LN1", "LN2")
_SOURCES = (5, 10, 15, 20)


class LocalEstimation(Experiment):
    """Average imbalance with true loads (G), local estimates (L) and hashing (H)."""

    id: ClassVar[str] = "pkg-figure-4"
    title: ClassVar[str] = "Local load estimation against a global oracle"
    reference: ClassVar[str] = "PKG, figure 4"
    summary: ClassVar[str] = (
        "G knows the workers' true loads; in L5, L10, L15, L20 each of that many sources knows "
        "only what it sent itself; H is key grouping. Streams stand in for the paper's data sets."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Every technique with every number of workers on every stream."""
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

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a setting, a column a technique."""
        told = named(frame)
        techniques = list(dict.fromkeys(told["technique"]))
        table = told.pivot_table(
            "average_imbalance_fraction", ["symbol", "workers"], "technique", sort=False
        ).reset_index()
        columns = [
            Column("symbol", "Data set"),
            Column("workers", "W", "d"),
            *(Column(name, name, ".1e") for name in techniques),
        ]
        return [Table("Fraction of average imbalance", columns, table, NOT_GIVEN)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A panel a data set."""
        figure = chart(
            named(frame),
            x=Axis("workers", "Workers, W", "category"),
            y=Axis("average_imbalance_fraction", IMBALANCE, "log"),
            group="technique",
            legend="Technique",
            panels=Grid("symbol"),
            kind="bars",
        )
        return [Plot("Average imbalance by technique and workers", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Local estimation is nearly as good as global."""
        table = named(frame).pivot_table("unbalanced", ["symbol", "workers"], "technique")
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
