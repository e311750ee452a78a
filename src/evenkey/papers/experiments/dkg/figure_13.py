"""DKG, figure 13: more sources (the paper's spouts)."""

from __future__ import annotations

from evenkey.papers.experiments.dkg.comparison import Comparison
from evenkey.papers.experiments.dkg.ways import Setting
from evenkey.reports.pictures import Axis


class MoreSources(Comparison):
    id = "dkg-figure-13"
    title = "More sources"
    panels = "a to d"
    settings = tuple(Setting("twitter-election", sources=sources) for sources in (5, 10, 15, 20))
    varied = Axis("sources", "Sources (spouts)", "category")
    summary = "A look-alike of twitter-election, 10 workers."
