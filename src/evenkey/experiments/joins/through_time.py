"""The sPS pipeline through time, with redistribution and without, as figures 6 and 7 have it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.experiments.figures import Axis, Grid, chart
from evenkey.experiments.frames import series
from evenkey.experiments.joins.join_run import join_run

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from plotly.graph_objects import Figure

    from evenkey.experiments.scale import Scale
    from evenkey.experiments.scenario import Scenario

__all__ = ["THROUGH_TIME", "both_modes", "through_time"]

THROUGH_TIME = ("dynamic-lb-stal", "static-stal")
_SKEWS = (0.3, 0.4, 0.5, 0.6, 0.7)
_QUICK_SKEWS = (0.3, 0.7)
_QUICK_PUBLICATIONS, _SUBSCRIPTIONS = 24_000, 10_000
"""More than elsewhere at scale quick: MLDC of a few rows an epoch is that of overheads."""


def both_modes(scale: Scale) -> Sequence[Scenario]:
    """Dynamic LB STAL and Static STAL at each skew."""
    skews = _SKEWS if scale.most_messages is None else _QUICK_SKEWS
    return [
        join_run(
            scale,
            "sps",
            mode,
            skew,
            epochs=12,
            publications=_QUICK_PUBLICATIONS,
            subscriptions=_SUBSCRIPTIONS,
        )
        for skew in skews
        for mode in THROUGH_TIME
    ]


def through_time(frame: pd.DataFrame, y: Axis) -> Figure:
    """A panel a nominal skew, with the realised one in its title, and a line a mode."""
    realised = frame.groupby("skew")["realised_skew"].transform("mean")
    labels = [f"s = {s} ({r:.2f} realised)" for s, r in zip(frame["skew"], realised, strict=True)]
    return chart(
        series(frame.assign(panel=labels)),
        x=Axis("seconds", "Stream time, s"),
        y=y,
        group="mode",
        legend="Mode",
        panels=Grid("panel"),
    )
