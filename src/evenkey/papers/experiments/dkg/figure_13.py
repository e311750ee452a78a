"""DKG, figure 13: more spouts."""

from __future__ import annotations

from evenkey.papers.experiments.dkg.comparison import Comparison
from evenkey.papers.experiments.dkg.ways import Setting
from evenkey.reports.pictures import Axis


class MoreSpouts(Comparison):
    id = "dkg-figure-13"
    title = "More spouts"
    panels = "a to d"
    settings = tuple(Setting("twitter-election", spouts=spouts) for spouts in (5, 10, 15, 20))
    varied = Axis("spouts", "Spouts", "category")
    summary = (
        "A look-alike of twitter-election, 10 workers. Spouts read the messages and pass them to "
        "the splitters in turn."
    )
