"""DKG, table 2: the data sets."""

from __future__ import annotations

from dataclasses import replace

from evenkey.papers.experiments import Experiment, Frame, KeyShare, Scale
from evenkey.papers.experiments.dkg.methods import PUBLISHED, dataset, placed
from evenkey.reports.pictures import Axis, Chart, Column


class DataSets(Experiment):
    id = "dkg-table-2"
    title = "The data sets of the DKG paper"
    summary = (
        "The skewness ratio is the share of the most frequent key. The country streams are made "
        "as in the paper; the hot name is also drawn among all 204, so r0 has a share of 0.5 % "
        "too. Synthetic look-alikes replace the five real data sets."
    )

    table = "Data sets"
    columns = (
        Column("data", "Data set"),
        Column("dataset", "Stream"),
        Column("paper_messages", "Messages, paper", ",d"),
        Column("messages", "Messages, ours", ",d"),
        Column("weight", "Their weight, ours", ",d"),
        Column("keys", "Distinct keys, ours", ",d"),
        Column("skewness", "Skewness, %, paper", "d"),
        Column("top_share_percent", "Skewness, %, ours", ".2f"),
    )
    note = ""
    charts = (
        Chart(
            "Share of the most frequent key",
            Axis("data", "", "category"),
            Axis("share", "Skewness, % of messages"),
            kind="bars",
            sideways=True,
            beside={"ours": "top_share_percent", "paper": "skewness"},
        ),
    )

    def scenarios(self, scale: Scale) -> list[KeyShare]:
        # Shares of keys do not depend on time.
        return [KeyShare(replace(dataset(name, scale), rate=None)) for name in PUBLISHED]

    def labelled(self, frame: Frame) -> Frame:
        rows = placed(frame)
        return rows.assign(paper_messages=[PUBLISHED[name].messages for name in rows["data"]])
