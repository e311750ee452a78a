"""DKG, table 2: the data sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.dkg.methods import PUBLISHED, dataset, placed
from evenkey.experiments.experiment import Experiment, Finding, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.frames import side_by_side
from evenkey.experiments.key_share import KeyShare
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["DataSets"]


class DataSets(Experiment):
    """Messages and skewness of each data set."""

    id: ClassVar[str] = "dkg-table-2"
    title: ClassVar[str] = "The data sets of the DKG paper"
    reference: ClassVar[str] = "DKG, table 2"
    summary: ClassVar[str] = (
        "The skewness ratio is the share of the most frequent key. The country streams are made "
        "as the paper makes them; the hot name is drawn among all 204 as well, so that even r0 "
        "has a share of 0.5 %. Synthetic look-alikes stand in for the five real data sets."
    )

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        """Count each stream once."""
        return [KeyShare(dataset(name, scale)) for name in PUBLISHED]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """The paper's figures and ours side by side."""
        columns = [
            Column("data", "Data set"),
            Column("dataset", "Stream"),
            Column("paper_messages", "Messages, paper", ",d"),
            Column("messages", "Messages, ours", ",d"),
            Column("weight", "Their weight, ours", ",d"),
            Column("keys", "Distinct keys, ours", ",d"),
            Column("skewness", "Skewness, %, paper", "d"),
            Column("top_share_percent", "Skewness, %, ours", ".2f"),
        ]
        return [Table("Data sets", columns, _told(frame))]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """Skewness, the paper's and ours."""
        told = _told(frame)
        figures = side_by_side(told, "share", {"skewness": "paper", "top_share_percent": "ours"})
        figure = chart(
            figures,
            x=Axis("data", "", "category"),
            y=Axis("share", "Skewness, % of messages"),
            group="whose",
            legend="Figures",
            kind="bars",
        )
        return [Plot("Share of the most frequent key", figure)]

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """Shares are the published ones."""
        told = _told(frame)
        off = (told["top_share_percent"] - told["skewness"]).abs().max()
        return [
            Finding(
                "Skewness ratios of 0 to 100 %",
                f"ours differ by at most {off:.1f} percentage points",
                off < 1,
            )
        ]


def _told(frame: pd.DataFrame) -> pd.DataFrame:
    told = placed(frame)
    return told.assign(paper_messages=[PUBLISHED[name].messages for name in told["data"]])
