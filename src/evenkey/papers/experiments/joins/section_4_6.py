"""Joins, section 4.6: skew, and Algorithm 1 through time, without Spark."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale, Scenario, series
from evenkey.papers.experiments.joins.rehearsal import (
    CLUSTERED,
    DATA,
    HEAVY,
    LOAD,
    POINTS,
    SPREAD,
    STATIC,
    RehearsedJoin,
    SkewReached,
)
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

_PUBLICATIONS, _FEW_PUBLICATIONS = 100_000, 10_000
_SKEWS = (0.3, 0.4, 0.5, 0.6, 0.7)
_PIPELINES = {"sps": "sPS", "rihps": "RIhPS", "risps": "RIsPS"}

_SKEW, _MODE = Column("skew", "Skew, nominal s", ".4g"), Column("mode", "Mode")
_MIX = Column("mix", "Publications")
_COLUMNS = {
    "Skew that is reached": (
        Column("pipeline", "Pipeline"),
        _MIX,
        _SKEW,
        Column("realised", "Skew, realised", ".3f"),
        Column("max_over_mean", "Maximum load, over the mean", ".3f"),
    ),
    "sPS through time": (
        _SKEW,
        _MODE,
        Column("crossings_percent", "Epochs that cross the mean throughput, %", ".0f"),
        Column("mldc_first", "MLDC, first epoch", ".3f"),
        Column("mldc_later", "MLDC, median after 30 s", ".3f"),
        Column("skew_later", "Skew after 30 s", ".3f"),
        Column("idle_percent", "13 workers wait, % of the time", ".0f"),
        Column("redistributions", "Redistributions", ".0f"),
        Column("reaction_seconds", "First of them after, s", ".1f"),
    ),
    "Share of rows for the partitions of 3 of 16 workers, by epoch": (
        _SKEW,
        Column("share", "average", ".4f"),
        Column("share_smallest", "smallest", ".4f"),
        Column("share_largest", "largest", ".4f"),
    ),
    "Skew that moves to other partitions every 20 s": (
        _SKEW,
        _MODE,
        Column("redistributions", "Redistributions", ".0f"),
        Column("pause_seconds", "Shortest time between two, s", ".1f"),
    ),
    "Homogeneous and heterogeneous streams": (
        _MIX,
        _SKEW,
        _MODE,
        Column("mldc_later", "MLDC of load, median after 30 s", ".3f"),
    ),
}
_SKEWED, _TIME, _SHARES, _SHIFTING, _KINDS = _COLUMNS
_NOTES = {
    _TIME: "Skew after 30 s: the share of the load on the three workers that were skewed at first. "
    "The 13 others wait for the most loaded worker of each epoch. The last column: seconds from "
    "the first epoch with an MLDC above the threshold."
}


class SkewAndTime(Experiment):
    id = "joins-section-4-6"
    title = "Skew, and the Dynamic Distributor through time"
    summary = (
        "No join runs, and nothing is timed. The generators of figures 4 to 7 draw 10,000 "
        "subscriptions and 100,000 publications in an invented country, 10,000 for the first "
        "table. (Section 3.2 has 30,000, so its figures differ a little.) A publication becomes a "
        "row in each partition that it meets. A row is one unit of load on 16 workers; a row of a "
        "polygon is 30 where the table says so. In 240 epochs of 0.5 s the Dynamic Distributor, "
        "with the parameters of table 1, places the partitions of sPS. Throughput is the "
        "publications of an epoch over the load of its most loaded worker. The Distributor decides "
        "by the MLDC: that of the load of the last 30 s, with each partition on its present "
        "worker. Medians of three streams, in brackets all three."
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        few = Dataset("publications", scale.messages(_FEW_PUBLICATIONS))
        stream = Dataset("publications", scale.messages(_PUBLICATIONS))
        return [*_skews(few), *_rehearsals(stream)]

    def labelled(self, frame: Frame) -> Frame:
        conditions = [frame["kind"] == SkewReached.kind, frame["shifting"].eq(other=True)]
        tables = np.select(
            [*conditions, frame["mix"] == SPREAD], [_SKEWED, _SHIFTING, _TIME], _KINDS
        )
        pairs = zip(frame["mode"], frame["wait_periods"], strict=True)
        modes = [f"{mode}, N = 0" if periods == 0 else mode for mode, periods in pairs]
        return frame.assign(mode=modes, table=tables, pipeline=frame["pipeline"].map(_PIPELINES))

    def tables(self, frame: Frame) -> list[Table]:
        parts = {title: frame[frame["table"] == title] for title in _COLUMNS}
        parts[_SHARES] = parts[_TIME][parts[_TIME]["mode"] == STATIC]
        return [
            Table(title, columns, parts[title], _NOTES.get(title, ""))
            for title, columns in _COLUMNS.items()
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        played = frame[frame["table"] == _TIME]
        points = series(played.assign(panel=[f"s = {skew:g}" for skew in played["skew"]]))
        seconds = Axis("seconds", "Stream time, s")
        return [
            Chart(title, seconds, axis, "mode", panels=Grid("panel", shared=True)).plot(points)
            for title, axis in (
                ("Throughput through time", Axis("throughput", "Publications per row")),
                ("MLDC through time", Axis("mldc", "MLDC, of the last 30 s")),
            )
        ]


def _skews(stream: Dataset) -> Iterator[SkewReached]:
    for mix in (SPREAD, POINTS):
        yield SkewReached(stream, "sps", 3 / 16, mix)
    for pipeline in ("rihps", "risps"):
        for mix in (SPREAD, CLUSTERED):
            for skew in _SKEWS:
                yield SkewReached(stream, pipeline, skew, mix)


def _rehearsals(stream: Dataset) -> Iterator[RehearsedJoin]:
    for skew in _SKEWS:
        for mode in (STATIC, LOAD):
            yield RehearsedJoin(stream, skew, mode)
    for periods in (3, 0):
        yield RehearsedJoin(stream, 0.7, LOAD, wait_periods=periods, shifting=True)
    for mix in (POINTS, HEAVY):
        for mode in (LOAD, DATA):
            yield RehearsedJoin(stream, 0.7, mode, mix)
