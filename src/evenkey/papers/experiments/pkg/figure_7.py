"""PKG, figure 7: robustness to skew, keys and workers (question Q3)."""

from __future__ import annotations

import numpy as np

from evenkey.papers.experiments import FULL, Experiment, Finding, Frame, Scale, Simulation, spelled
from evenkey.papers.experiments.pkg.paper_streams import zipf
from evenkey.papers.experiments.pkg.techniques import (
    BALANCED,
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
        "where the most frequent key has more than two workers can hold, p1 > 2/W. Scale quick "
        "takes every second exponent."
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

    def findings(self, frame: Frame) -> list[Finding]:
        # A key whose two hashes are equal has only one worker, so balance is certain only if
        # p1 < 1/W.
        safe = frame[frame["p1"] / 100 * frame["workers"] < 0.8]
        kept = (safe["average_imbalance_fraction"] < BALANCED).mean()
        p1 = frame["p1"] / 100
        sampling = 5 / 2 * np.sqrt(p1 * (1 - p1) / frame["messages"])
        bound = p1 / 2 - 1 / frame["workers"] - sampling
        below = (frame["imbalance_fraction"] < bound).sum()
        fewest = frame[frame["workers"] == WORKERS[0]]
        steepest = fewest[fewest["average_imbalance_fraction"] < BALANCED]["z"].max()
        return [
            Finding(
                "The transition between balanced and unbalanced happens when p1 is too large: "
                "where p1 > 2/W the imbalance is at least p1/2 - 1/W of the messages",
                f"below that, by more than sampling explains, in {below} of {len(frame)} "
                f"settings; balanced in {100 * kept:.0f} % of those with p1 < 0.8/W",
                below == 0 and kept > 0.95,
            ),
            Finding(
                "PKG withstands skew up to a threshold, z of about 1.2",
                f"balanced up to z = {steepest:.1f} with {WORKERS[0]} workers",
                1 <= steepest <= 1.6,
            ),
        ]
