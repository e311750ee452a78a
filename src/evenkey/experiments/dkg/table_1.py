"""DKG, table 1: thresholds, and the largest pools of workers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dataset import Dataset
from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.frames import side_by_side
from evenkey.experiments.simulation import Simulation
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["LargestPools"]

_PAPER = {5: (24.47, 5), 10: (13.16, 8), 20: (7.24, 14), 50: (3.41, 30), 100: (2.00, 51)}
"""Workers: threshold in percent, largest pool."""

_MESSAGES = 1_000_000
_SECONDS = 8000


class LargestPools(Experiment):
    """Over how many workers dynamic key grouping spreads a key that has all messages."""

    id: ClassVar[str] = "dkg-table-1"
    title: ClassVar[str] = "Thresholds, and the largest pools of workers"
    reference: ClassVar[str] = "DKG, table 1"
    summary: ClassVar[str] = (
        "A stream with a single key, which is the worst that can be: dkg widens the key's pool "
        "while even the least loaded of its workers is above the threshold, L + sqrt(L) with "
        "L = 100/W %. The pool is counted, as the workers that got messages. The stream is long, "
        "so that what went to two workers before the key was found to be hot does not show."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """One key, one source."""
        messages = scale.messages(_MESSAGES)
        stream = Dataset("uniform(keys=1)", messages, messages / _SECONDS)
        return [Simulation(stream, "dkg", workers, sources=1) for workers in _PAPER]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """The paper's figures and ours side by side."""
        columns = [
            Column("workers", "Workers", "d"),
            Column("ideal", "Ideal load, %", ".2f"),
            Column("threshold", "Threshold, %, L + sqrt(L)", ".2f"),
            Column("paper_threshold", "Threshold, %, paper", ".2f"),
            Column("pairs", "Largest pool, ours", "d"),
            Column("paper_pool", "Largest pool, paper", "d"),
        ]
        return [Table("Thresholds and pools", columns, _told(frame))]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """Pools against workers."""
        told = _told(frame)
        figures = side_by_side(told, "pool", {"pairs": "ours", "paper_pool": "paper"})
        figure = chart(
            figures,
            x=Axis("workers", "Workers", "category"),
            y=Axis("pool", "Largest pool, workers"),
            group="whose",
            legend="Figures",
            kind="bars",
        )
        return [Plot("Largest pool of a key", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """The pools are the paper's."""
        told = _told(frame)
        pools = told["pairs"].tolist()
        return [
            Finding(
                "The largest pools are "
                + ", ".join(str(pool) for _, pool in _PAPER.values())
                + " workers of "
                + ", ".join(map(str, _PAPER)),
                ", ".join(map(str, pools)),
                pools == told["paper_pool"].tolist(),
            )
        ]


def _told(frame: pd.DataFrame) -> pd.DataFrame:
    ideal = 100 / frame["workers"]
    return frame.assign(
        ideal=ideal,
        threshold=ideal + ideal.map(math.sqrt),
        paper_threshold=[_PAPER[workers][0] for workers in frame["workers"]],
        paper_pool=[_PAPER[workers][1] for workers in frame["workers"]],
    )
