"""PKG, figure 10 c: throughput against memory on TW (question Q5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.pkg.aggregation_periods import AggregationPeriods
from evenkey.papers.experiments.pkg.deployment import ON_SPARK, TW, by_period

if TYPE_CHECKING:
    from evenkey.papers.experiments import PipelineRun, Scale


class MemoryOnTwitter(AggregationPeriods):
    id = "pkg-figure-10-c"
    title = "Throughput against memory for aggregation periods on TW"
    summary = (
        "TW without an added cost, 8 sources; 16 workers for KG, 8 workers and 8 aggregators for "
        "the others. Here no worker sleeps: all workers share the cores of the machine, so an "
        "uneven load delays no worker unless there are as many cores as workers. Below scale full "
        "a Zipf stream, at scale quick of a minute and at scale medium of three, with TW's "
        f"messages a key and its most frequent key. {ON_SPARK}"
    )

    def scenarios(self, scale: Scale) -> list[PipelineRun]:
        return list(by_period(TW, scale))
