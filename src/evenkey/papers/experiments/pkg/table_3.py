"""PKG, table 3: average latency (question Q5)."""

from __future__ import annotations

import pandas as pd

from evenkey.papers.experiments import Experiment, Frame, PipelineRun, Scale
from evenkey.papers.experiments.pkg.deployment import OURS_NOTE, schemes
from evenkey.papers.experiments.pkg.figure_10_a import with_costs
from evenkey.papers.experiments.pkg.figure_10_b import saturated
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Table

_COSTS = (0.1, 0.5, 1.0)

_PAPER = {
    ("PKG", "D = 0.1 ms"): 3.81,
    ("PKG", "D = 0.5 ms"): 6.24,
    ("PKG", "D = 1 ms"): 11.01,
    ("PKG", "T = 10 s"): 6.93,
    ("PKG", "T = 30 s"): 6.79,
    ("PKG", "T = 60 s"): 6.47,
    ("SG", "D = 0.1 ms"): 3.66,
    ("SG", "D = 0.5 ms"): 6.11,
    ("SG", "D = 1 ms"): 10.82,
    ("SG", "T = 10 s"): 7.01,
    ("SG", "T = 30 s"): 6.75,
    ("SG", "T = 60 s"): 6.58,
    ("KG", "D = 0.1 ms"): 3.65,
    ("KG", "D = 0.5 ms"): 9.82,
    ("KG", "D = 1 ms"): 19.35,
}
"""The paper's latencies, by scheme and setting; the paper gives no unit."""


class AverageLatency(Experiment):
    id = "pkg-table-3"
    title = "Average latency for costs of a message and aggregation periods"
    summary = (
        "WP, the runs of figures 10 a (cost D of a message) and b (aggregation period T at "
        "0.4 ms). A message of ours waits for its epoch, so our latency is that of an epoch, in "
        "seconds, once its messages have arrived; it is compared with the paper's as parts of "
        "PKG's. Under T epochs differ in length, and latency with them. "
        f"{OURS_NOTE}"
    )

    charts = (
        Chart(
            "Average latency, as parts of PKG's",
            Axis("scheme", "", "category"),
            Axis("latency", "Mean latency, of PKG's"),
            panels=Grid("setting"),
            kind="bars",
            beside={"ours": "relative", "paper": "paper_relative"},
        ),
    )

    def scenarios(self, scale: Scale) -> list[PipelineRun]:
        return [each for each in with_costs(scale) if each.cost_ms in _COSTS] + saturated(scale)

    def labelled(self, frame: Frame) -> Frame:
        rows = schemes(frame)
        rows = rows.assign(
            setting=[
                f"T = {row.period} s" if pd.isna(row.arrival_rate) else f"D = {row.cost_ms:g} ms"
                for row in rows.itertuples()
            ],
            seconds=rows["latency_mean_ms"] / 1000,
        )
        pkg = rows[rows["scheme"] == "PKG"].set_index("setting")["seconds"]
        pairs = list(zip(rows["scheme"], rows["setting"], strict=True))
        paper = [_PAPER.get(pair, float("nan")) for pair in pairs]
        return rows.assign(
            relative=rows["seconds"] / rows["setting"].map(pkg),
            paper=paper,
            paper_relative=[
                figure / _PAPER["PKG", setting]
                for figure, (_, setting) in zip(paper, pairs, strict=True)
            ],
        )

    def tables(self, frame: Frame) -> list[Table]:
        columns = [Column("scheme", "Scheme")]
        rows = frame[["scheme"]].drop_duplicates()
        for setting, part in frame.groupby("setting", sort=False):
            figures = part.set_index("scheme")[["seconds", "relative", "paper", "paper_relative"]]
            rows = rows.join(figures.add_suffix(f", {setting}"), on="scheme")
            columns += [
                Column(f"seconds, {setting}", f"{setting}: s, ours", ".2f"),
                Column(f"relative, {setting}", "of PKG's, ours", ".2f"),
                Column(f"paper, {setting}", "paper", ".2f"),
                Column(f"paper_relative, {setting}", "of PKG's, paper", ".2f"),
            ]
        half = len(columns) // 2
        return [
            Table("Costs of a message, D", columns[: half + 1], rows),
            Table("Aggregation periods, T", [columns[0], *columns[half + 1 :]], rows),
        ]
