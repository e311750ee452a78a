"""DKG, figure 12: more workers."""

from __future__ import annotations

from evenkey.papers.experiments.dkg.comparison import Comparison
from evenkey.papers.experiments.dkg.ways import Setting
from evenkey.reports.pictures import Axis


class MoreWorkers(Comparison):
    id = "dkg-figure-12"
    title = "More workers"
    panels = "a to d"
    settings = tuple(Setting("twitter-election", workers=workers) for workers in (10, 50, 100))
    varied = Axis("workers", "Workers", "category")
    summary = "A look-alike of twitter-election, 5 spouts."
    only_on_spark = (
        "Spark starts a task a worker in each epoch, which costs these cores some seconds with "
        "100 of them; where messages are few, as at scale quick or medium, that is more than "
        "the workers save."
    )
