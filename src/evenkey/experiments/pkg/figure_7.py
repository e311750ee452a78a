"""PKG, figure 7: robustness to skew, keys and workers (question Q3)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.experiments.experiment import NOT_GIVEN, Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, Grid, chart
from evenkey.experiments.pkg.streams import zipf
from evenkey.experiments.pkg.techniques import BALANCED, IMBALANCE, WORKERS, pkg
from evenkey.experiments.scale import FULL
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["Skew"]

_KEYS = (1_000, 10_000, 100_000, 1_000_000)
_TENTHS = range(1, 21)


class Skew(Experiment):
    """Average imbalance of partial key grouping against the exponent of Zipf streams."""

    id: ClassVar[str] = "pkg-figure-7"
    title: ClassVar[str] = "Imbalance against skew, keys and workers"
    reference: ClassVar[str] = "PKG, figure 7"
    summary: ClassVar[str] = (
        "Average imbalance on Zipf streams, 5 sources with local load estimation. Balance is lost "
        "where the most frequent key has more than two workers can hold, p1 > 2/W. Scale quick "
        "takes every second exponent."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Every exponent with every number of keys and workers."""
        tenths = _TENTHS if scale == FULL else _TENTHS[1::2]
        return [
            pkg(zipf(each / 10, keys, scale), workers, estimation="local")
            for keys in _KEYS
            for each in tenths
            for workers in WORKERS
        ]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row an exponent and number of keys, a column a number of workers."""
        table = _points(frame).pivot_table(
            "average_imbalance_fraction", ["keys_declared", "z", "p1"], "workers"
        ).reset_index()  # fmt: skip
        table.columns = [str(name) for name in table.columns]
        columns = [
            Column("keys_declared", "K", ",d"),
            Column("z", "z", ".1f"),
            Column("p1", "p1, %", ".2f"),
            *(Column(str(workers), f"W = {workers}", ".1e") for workers in WORKERS),
        ]
        return [Table("Fraction of average imbalance", columns, table, NOT_GIVEN)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A panel a number of keys, a line a number of workers."""
        figure = chart(
            _points(frame),
            x=Axis("z", "Zipf exponent, z"),
            y=Axis("average_imbalance_fraction", IMBALANCE, "log"),
            group="workers",
            legend="Workers, W",
            panels=Grid("keys_declared", "K = {:,}"),
        )
        return [Plot("Average imbalance against skew", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Where balance ends."""
        points = _points(frame)
        # A key whose hashes meet has one worker: half of 2/W is safe whatever the hashes.
        safe = points[points["p1"] / 100 * points["workers"] < 0.8]
        kept = (safe["average_imbalance_fraction"] < BALANCED).mean()
        p1 = points["p1"] / 100
        sampling = 5 / 2 * np.sqrt(p1 * (1 - p1) / points["messages"])
        bound = p1 / 2 - 1 / points["workers"] - sampling
        below = (points["imbalance_fraction"] < bound).sum()
        fewest = points[points["workers"] == WORKERS[0]]
        steepest = fewest[fewest["average_imbalance_fraction"] < BALANCED]["z"].max()
        return [
            Finding(
                "The transition between balanced and unbalanced happens when p1 is too large: "
                "where p1 > 2/W the imbalance is at least p1/2 - 1/W of the messages",
                f"below that, by more than sampling explains, in {below} of {len(points)} "
                f"settings; balanced in {100 * kept:.0f} % of those with p1 < 0.8/W",
                below == 0 and kept > 0.95,
            ),
            Finding(
                "PKG withstands skew up to a threshold, z of about 1.2",
                f"balanced up to z = {steepest:.1f} with {WORKERS[0]} workers",
                1 <= steepest <= 1.6,
            ),
        ]


def _points(frame: pd.DataFrame) -> pd.DataFrame:
    numbers = frame["dataset"].str.extract(r"z=(?P<z>[\d.]+),keys=(?P<keys>\d+)")
    exponents, keys = numbers["z"].astype(float), numbers["keys"].astype(int)
    shares = {
        (z, count): 100 / float(np.sum(np.arange(1, count + 1) ** -z))
        for z, count in set(zip(exponents, keys, strict=True))
    }
    return frame.assign(
        z=exponents,
        keys_declared=keys,
        p1=[shares[setting] for setting in zip(exponents, keys, strict=True)],
    )
