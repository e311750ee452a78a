"""PKG, figure 10 b: throughput against memory on WP (question Q5)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments.pkg.aggregation_periods import AggregationPeriods
from evenkey.papers.experiments.pkg.deployment import OURS_NOTE, WP, by_period

if TYPE_CHECKING:
    from evenkey.papers.experiments import PipelineRun, Scale

_COST_MS = 0.4


def saturated(scale: Scale) -> list[PipelineRun]:
    """Declare a run of each scheme and period, at 0.4 ms per message, where KG saturates."""
    return list(by_period(WP, scale, _COST_MS))


class MemoryOnWikipedia(AggregationPeriods):
    id = "pkg-figure-10-b"
    title = "Throughput against memory for aggregation periods on WP"
    summary = (
        "WP with 0.4 ms a message, 8 sources; 10 workers for KG, 8 workers and 2 aggregators for "
        "the others; the sources are as fast as the workers. Below scale full a Zipf stream, at "
        "scale quick of a minute and at scale medium of three, with WP's messages a key and its "
        "most frequent key. "
        f"{OURS_NOTE}"
    )

    def scenarios(self, scale: Scale) -> list[PipelineRun]:
        return saturated(scale)
