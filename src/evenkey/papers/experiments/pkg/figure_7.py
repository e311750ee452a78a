"""PKG, figure 7: robustness to skew, keys and workers (question Q3)."""

from __future__ import annotations

import numpy as np

from evenkey.papers.experiments import FULL, Experiment, Frame, Scale, Simulation, spelled
from evenkey.papers.experiments.pkg.paper_streams import zipf
from evenkey.papers.experiments.pkg.techniques import (
    EXPONENT,
    IMBALANCE,
    WORKERS,
    imbalance_table,
    pkg,
)
from evenkey.reports.pictures import Chart, Column, Grid, Table

_KEYS = (1_000, 10_000, 100_000, 1_000_000)
_TENTHS = range(1, 21)


class Skew(Experiment):
    id = "pkg-figure-7"
    title = "Imbalance against skew, keys and workers"
    summary = (
        "Average imbalance on Zipf streams, 5 sources with local load estimation. Balance is lost "
        "at the latest where the most frequent key has more than two workers can hold, p1 > 2/W. "
        "Scale quick takes every second exponent."
    )

    charts = (
        Chart(
            "Average imbalance against skew",
            EXPONENT,
            IMBALANCE,
            "workers",
            "Workers, W",
            panels=Grid("keys_declared", "K = {:,}"),
        ),
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        tenths = _TENTHS if scale == FULL else _TENTHS[1::2]
        return [
            pkg(zipf(each / 10, keys, scale), workers, estimation="local")
            for keys in _KEYS
            for each in tenths
            for workers in WORKERS
        ]

    def labelled(self, frame: Frame) -> Frame:
        exponents = spelled(frame["dataset"], "z")
        keys = spelled(frame["dataset"], "keys").astype(int)
        shares = {
            (z, count): 100 / float(np.sum(np.arange(1, count + 1) ** -z))
            for z, count in set(zip(exponents, keys, strict=True))
        }
        p1 = [shares[setting] for setting in zip(exponents, keys, strict=True)]
        return frame.assign(z=exponents, keys_declared=keys, p1=p1)

    def tables(self, frame: Frame) -> list[Table]:
        setting = [
            Column("keys_declared", "K", ",d"),
            Column("z", "z", ".1f"),
            Column("p1", "p1, %", ".2f"),
        ]
        return [imbalance_table(frame, setting, "workers", "W = {}")]
