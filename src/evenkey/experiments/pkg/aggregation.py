"""Throughput against memory for the aggregation periods: figures 10 b and c of the PKG paper."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from evenkey.experiments.experiment import NOT_GIVEN, Experiment, Plot
from evenkey.experiments.figures import Axis, chart
from evenkey.experiments.pkg.deployment import schemes
from evenkey.experiments.table import Column, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["AggregationPeriods"]


class AggregationPeriods(Experiment):
    """Each scheme with aggregation periods of 10, 30 and 60 s."""

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        """A row a scheme and period."""
        columns = [
            Column("scheme", "Scheme"),
            Column("workers", "Workers", "d"),
            Column("period", "Aggregation period, s", "d"),
            Column("messages_per_second", "Throughput, messages/s", ",d"),
            Column("latency_mean_ms", "Mean latency, ms", ",d"),
            Column("counters_per_worker", "Counters of a worker, mean", ",d"),
            Column("epoch_pairs_max", "Counters of all workers, most", ",d"),
            Column("pairs", "Without aggregation", ",d"),
        ]
        told = pd.concat(part for _, part in schemes(frame).groupby("scheme", sort=False))
        note = (
            "A counter is a (key, worker) pair of an aggregation period; without aggregation, of "
            f"the whole stream. Latency is that of an epoch. {NOT_GIVEN}"
        )
        return [Table("Throughput, measured, and memory", columns, told, note)]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        """A line a scheme, a point a period."""
        figure = chart(
            schemes(frame),
            x=Axis("counters_per_worker", "Counters of a worker, mean"),
            y=Axis("messages_per_second", "Throughput, messages/s"),
            group="scheme",
            legend="Scheme",
        )
        note = (
            "The points of a line are aggregation periods of 10, 30 and 60 s, from left to right."
        )
        return [Plot("Throughput against memory", figure, note)]
