"""Compare modes and pipelines over the skew, for figures 4 and 5 of the joins paper.

The publications of the stream are points and polygons, and a polygon takes more time than a point.
In these experiments the polygons fill regions of their own, so partitions differ in their share of
polygons. If every partition had the same share, its number of publications would measure its load
as well as its seconds do, and the modes DB and LB would balance the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.papers.experiments import Experiment, Frame, Scale
from evenkey.papers.experiments.joins.join_run import JoinRun, join_run
from evenkey.papers.experiments.joins.rehearsal import crossings_percent
from evenkey.papers.experiments.joins.through_time import SKEWS
from evenkey.papers.publish_subscribe import MODES
from evenkey.reports.pictures import Axis, Chart, Column, Grid

if TYPE_CHECKING:
    from collections.abc import Sequence

CLUSTERED = (
    "Publications are 30 % polygons, which fill their own regions, on 128 partitions: if polygons "
    "were spread uniformly, balancing items and balancing load would be the same."
)
# According to the paper, hash partitions cannot be skewed more.
_RIHPS_SKEWS = (0.3, 0.4)
_AT_EACH_SKEW = {"risps": ("static-stal", "dynamic-lb-stal")}
"""Modes that the paper compares at each skew of a pipeline."""
_PIPELINES = {"sps": "sPS", "spis": "sPIS", "rihps": "RIhPS", "risps": "RIsPS"}

SETTING = (
    Column("skew", "Skew, nominal s", ".1f"),
    Column("realised_skew", "realised", ".2f"),
    Column("mode", "Mode"),
)
"""The first columns of a table of joins."""

SETTING_OF_MODES = (Column("pipeline", "Pipeline"), *SETTING)
"""The first columns of a table that compares pipelines."""


def against_skew(name: str, unit: str, modelled: str, measured: str) -> tuple[Chart, ...]:
    """Declare the plots of a modelled and a measured figure, with one panel per pipeline."""
    return tuple(
        Chart(
            f"{how} {name}",
            Axis("realised_skew", "Skew coefficient, realised"),
            Axis(column, unit),
            "mode",
            panels=Grid("pipeline", shared=True),
        )
        for how, column in (("Modelled", modelled), ("Measured", measured))
    )


class ModesAgainstSkew(Experiment):
    """A figure that compares all modes and pipelines. Figures 4 and 5 share their results."""

    table = "Modes against skew"

    def scenarios(self, scale: Scale) -> list[JoinRun]:
        return [
            join_run(scale, pipeline, mode, skew, clustered=True, shorter=2)
            for pipeline in _PIPELINES
            for skew in _skews(pipeline)
            for mode in _modes(scale, pipeline, skew)
        ]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(
            pipeline=frame["pipeline"].map(_PIPELINES),
            crossings_percent=[
                crossings_percent(np.array([point["throughput"] for point in points]))
                for points in frame["series"]
            ],
        )


def _skews(pipeline: str) -> Sequence[float]:
    return _RIHPS_SKEWS if pipeline == "rihps" else SKEWS


def _modes(scale: Scale, pipeline: str, skew: float) -> Sequence[str]:
    """Return the modes to run: below scale ``full``, all of them at the ends of the skews only."""
    skews = _skews(pipeline)
    if scale.whole or skew in (skews[0], skews[-1]):
        return MODES
    return _AT_EACH_SKEW.get(pipeline, ())
