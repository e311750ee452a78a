"""DKG, figure 13: more sources (the paper's spouts)."""

from __future__ import annotations

from evenkey.papers.experiments import Finding, Frame
from evenkey.papers.experiments.dkg.comparison import Comparison
from evenkey.papers.experiments.dkg.methods import PAPERS_METHODS
from evenkey.papers.experiments.dkg.ways import Setting
from evenkey.reports.pictures import Axis

_LITTLE = 0.25
"""Maximum relative change of a throughput that counts as unchanged."""


class MoreSources(Comparison):
    id = "dkg-figure-13"
    title = "More sources"
    panels = "a to d"
    settings = tuple(Setting("twitter-election", sources=sources) for sources in (5, 10, 15, 20))
    varied = Axis("sources", "Sources (spouts)", "category")
    summary = "A look-alike of twitter-election, 10 workers."

    def simulated(self, frame: Frame) -> list[Finding]:
        spread = frame.pivot_table("stddev_percent", "sources", "method")
        change = (spread.max() - spread.min()).max()
        better = (spread["DKG"] < spread[["PKG", "KG"]].min(axis=1)).all()
        return [
            Finding(
                "The number of sources has no effect under high skew",
                f"no method's StdDev changes by more than {change:.2f} percentage points",
                change < 1,
            ),
            Finding(
                "DKG has better StdDev than KG and PKG",
                f"at most {spread['DKG'].max():.2f} %, PKG at least {spread['PKG'].min():.2f} %",
                better,
            ),
        ]

    def measured(self, frame: Frame) -> list[Finding]:
        speed = frame.pivot_table("messages_per_second", "sources", "method")
        papers = speed[PAPERS_METHODS]
        change = (papers.max() / papers.min() - 1)[["KG", "PKG", "DKG"]]
        ahead = (papers["DKG"] / papers[["KG", "PKG"]].max(axis="columns")).min()
        return [
            Finding(
                "The number of sources has no effect under high skew",
                "throughput changes by "
                + ", ".join(f"{100 * part:.0f} % ({name})" for name, part in change.items()),
                change.max() < _LITTLE,
            ),
            Finding(
                "DKG has a better throughput than KG and PKG",
                f"at least {ahead:.2f} times theirs with any number of sources",
                ahead > 1,
            ),
        ]
