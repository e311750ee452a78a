"""PKG, figure 10 c: throughput against memory on TW (question Q5)."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from evenkey.experiments.experiment import Finding
from evenkey.experiments.pkg.aggregation import AggregationPeriods
from evenkey.experiments.pkg.deployment import OURS_NOTE, TW, by_period, schemes

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.experiments.pipeline import PipelineRun
    from evenkey.experiments.scale import Scale

__all__ = ["MemoryOnTwitter"]


class MemoryOnTwitter(AggregationPeriods):
    """Throughput and counters for three aggregation periods without an added cost."""

    id: ClassVar[str] = "pkg-figure-10-c"
    title: ClassVar[str] = "Throughput against memory for aggregation periods on TW"
    reference: ClassVar[str] = "PKG, figure 10 c"
    summary: ClassVar[str] = (
        "TW without an added cost, 8 sources; 16 workers for KG, 8 workers and 8 aggregators for "
        "the others. Nobody sleeps here: all workers share the cores of the machine, so an uneven "
        "load delays nobody unless there are as many cores as workers. At scale quick a Zipf "
        "stream of a minute with TW's messages a key and its most frequent key. "
        f"{OURS_NOTE}"
    )

    def scenarios(self, scale: Scale) -> Sequence[PipelineRun]:
        """Every scheme with every aggregation period."""
        return list(by_period(TW, scale))

    def findings(self, frame: pd.DataFrame) -> Sequence[Finding]:
        """PKG against both."""
        minute = schemes(frame)
        minute = minute[minute["period"] == 60].set_index("scheme")
        speed, memory = minute["messages_per_second"], minute["epoch_pairs_mean"]
        gain = speed["PKG"] / speed["KG"] - 1
        return [
            Finding(
                "With a period of one minute PKG improves the throughput nearly 175 % over KG",
                f"by {100 * gain:.0f} %",
                gain > 1,
            ),
            Finding(
                "With a period of one minute PKG takes almost 30 % less memory than SG",
                f"{memory['PKG']:,.0f} counters against {memory['SG']:,.0f}, "
                f"{100 * (1 - memory['PKG'] / memory['SG']):.0f} % less",
                memory["PKG"] <= 0.7 * memory["SG"],
            ),
        ]
