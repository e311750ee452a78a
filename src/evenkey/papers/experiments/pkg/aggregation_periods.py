"""Throughput against memory by aggregation period, for figures 10 b and c of the PKG paper."""

from __future__ import annotations

import pandas as pd

from evenkey.papers.experiments import NOT_GIVEN, Experiment, Frame
from evenkey.papers.experiments.pkg.deployment import THROUGHPUT, schemes
from evenkey.reports.pictures import Axis, Chart, Column


class AggregationPeriods(Experiment):
    """A figure of each scheme with aggregation periods of 10, 30 and 60 s."""

    table = "Throughput, measured, and memory"
    columns = (
        Column("scheme", "Scheme"),
        Column("workers", "Workers", "d"),
        Column("period", "Aggregation period, s", "d"),
        Column("messages_per_second", "Throughput, messages/s", ",d"),
        Column("latency_mean_ms", "Mean latency, ms", ",d"),
        Column("counters_per_worker", "Counters of a worker, mean", ",d"),
        Column("epoch_pairs_max", "Counters of all workers, most", ",d"),
        Column("pairs", "Without aggregation", ",d"),
    )
    note = (
        "A counter is a (key, worker) pair of an aggregation period; without aggregation, of "
        f"the whole stream. Latency is that of an epoch. {NOT_GIVEN}"
    )
    charts = (
        Chart(
            "Throughput against memory",
            Axis("counters_per_worker", "Counters of a worker, mean"),
            THROUGHPUT,
            "scheme",
            note="The points of a line are aggregation periods of 10, 30 and 60 s, from left to "
            "right.",
        ),
    )

    def labelled(self, frame: Frame) -> Frame:
        return pd.concat(part for _, part in schemes(frame).groupby("scheme", sort=False))
