"""PKG, figure 10 b: throughput against memory on WP (question Q5)."""

from __future__ import annotations

from evenkey.papers.experiments import Finding, Frame, PipelineRun, Scale
from evenkey.papers.experiments.pkg.aggregation_periods import AggregationPeriods
from evenkey.papers.experiments.pkg.deployment import OURS_NOTE, WP, by_period

_COST_MS = 0.4
_PAPER_COUNTERS = {"KG": 2.9, "PKG": 3.6, "SG": 7.2}
"""The paper's numbers of counters over the whole of WP, in millions."""


def saturated(scale: Scale) -> list[PipelineRun]:
    """Declare a run of each scheme and period, at 0.4 ms per message, where KG saturates."""
    return list(by_period(WP, scale, _COST_MS))


class MemoryOnWikipedia(AggregationPeriods):
    id = "pkg-figure-10-b"
    title = "Throughput against memory for aggregation periods on WP"
    summary = (
        "WP with 0.4 ms a message, 8 sources; 10 workers for KG, 8 workers and 2 aggregators for "
        "the others; the sources are as fast as the workers. At scale quick a Zipf stream of a "
        "minute, a two-hundredth of WP in messages and keys, which has WP's most frequent key. "
        f"{OURS_NOTE}"
    )

    def scenarios(self, scale: Scale) -> list[PipelineRun]:
        return saturated(scale)

    def findings(self, frame: Frame) -> list[Finding]:
        speed = frame.pivot_table("messages_per_second", "period", "scheme")
        memory = frame.pivot_table("counters_per_worker", "period", "scheme")
        counters = frame.groupby("scheme")["pairs"].max()
        faster = speed["PKG"] > speed["SG"]
        smaller = memory["PKG"] < memory["SG"]
        best = speed["KG"].max()
        paper = _PAPER_COUNTERS
        return [
            Finding(
                "For all aggregation periods PKG achieves a higher throughput than SG, with fewer "
                "counters",
                "; ".join(
                    f"{period} s: {speed.loc[period, 'PKG']:,.0f}/s against "
                    f"{speed.loc[period, 'SG']:,.0f}, {memory.loc[period, 'PKG']:,.0f} counters "
                    f"against {memory.loc[period, 'SG']:,.0f}"
                    for period in speed.index
                ),
                (faster & smaller).all(),
            ),
            Finding(
                "When the aggregation period is above 30 s the throughput of PKG is higher than "
                "KG's",
                f"with 60 s {speed.loc[60, 'PKG']:,.0f}/s, and KG at its best {best:,.0f}/s",
                speed.loc[60, "PKG"] > best,
            ),
            Finding(
                "Over the whole stream PKG needs about 30 % more counters than KG and half of "
                "SG's: " + ", ".join(f"{paper[name]} M ({name})" for name in paper),
                ", ".join(f"{counters[name]:,d} ({name})" for name in paper)
                + f": PKG {100 * (counters['PKG'] / counters['KG'] - 1):.0f} % more than KG, "
                f"{100 * (1 - counters['PKG'] / counters['SG']):.0f} % fewer than SG",
                counters["PKG"] <= 0.7 * counters["SG"],
            ),
        ]
