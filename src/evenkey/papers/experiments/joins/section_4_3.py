"""Joins, section 4.3: the work on a publication that is a point, and on one that is a polygon."""

from __future__ import annotations

from dataclasses import replace

from evenkey.papers.experiments import Experiment, Frame, Scale
from evenkey.papers.experiments.joins.join_run import ASLEEP, MACHINE, MEDIANS, JoinRun, join_run
from evenkey.reports.pictures import Axis, Chart, Column

_PIPELINES = {"sps": "sPS", "spis": "sPIS"}
_KINDS = {0.0: "points", 1.0: "polygons"}


class PointsAndPolygons(Experiment):
    id = "joins-section-4-3"
    title = "The work on points and on polygons"
    summary = (
        "sPS and sPIS run in mode Static STAL at s = 0.3 on 64 partitions, once with points and "
        "once with polygons. Work is the processor time of the join in all slots, without the "
        "loading of static partitions. A polygon becomes a row in each partition that it meets. "
        f"{MACHINE} {ASLEEP} {MEDIANS}"
    )
    charts = (
        Chart(
            "Work on a publication",
            Axis("name", "Pipeline", "category"),
            Axis("work_us", "Processor time, µs"),
            "kind",
            kind="bars",
        ),
    )
    table = "Work on a publication"
    columns = (
        Column("name", "Pipeline"),
        Column("kind", "Publications"),
        Column("work_us", "Work on a publication, µs", ",.0f"),
    )

    def scenarios(self, scale: Scale) -> list[JoinRun]:
        return [
            replace(join_run(scale, pipeline, "static-stal", 0.3), polygon_share=share)
            for pipeline in _PIPELINES
            for share in _KINDS
        ]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(
            name=frame["pipeline"].map(_PIPELINES), kind=frame["polygon_share"].map(_KINDS)
        )
