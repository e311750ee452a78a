"""DKG, figure 11: each metric against the skewness."""

from __future__ import annotations

from evenkey.papers.experiments.dkg.comparison import Skewness


class MetricsAgainstSkewness(Skewness):
    id = "dkg-figure-11"
    title = "Each metric against the skewness"
    panels = "a to d"
    summary = "Country streams, 5 spouts, 10 workers."
