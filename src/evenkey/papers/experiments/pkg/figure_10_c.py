"""PKG, figure 10 c: throughput against memory on TW (question Q5)."""

from __future__ import annotations

from evenkey.papers.experiments import Finding, Frame, PipelineRun, Scale
from evenkey.papers.experiments.pkg.aggregation_periods import AggregationPeriods
from evenkey.papers.experiments.pkg.deployment import OURS_NOTE, TW, by_period


class MemoryOnTwitter(AggregationPeriods):
    id = "pkg-figure-10-c"
    title = "Throughput against memory for aggregation periods on TW"
    summary = (
        "TW without an added cost, 8 sources; 16 workers for KG, 8 workers and 8 aggregators for "
        "the others. Nobody sleeps here: all workers share the cores of the machine, so an uneven "
        "load delays nobody unless there are as many cores as workers. At scale quick a Zipf "
        "stream of a minute with TW's messages a key and its most frequent key. "
        f"{OURS_NOTE}"
    )

    def scenarios(self, scale: Scale) -> list[PipelineRun]:
        return list(by_period(TW, scale))

    def findings(self, frame: Frame) -> list[Finding]:
        minute = frame[frame["period"] == 60].set_index("scheme")
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
