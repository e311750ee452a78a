"""Joins, sections 3.1 and 3.2: items and load that are balanced, and when partitions move."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale
from evenkey.papers.experiments.joins.rehearsal import (
    CLUSTERED,
    DATA,
    HEAVY,
    LOAD,
    POINTS,
    STATIC,
    MovedPartitions,
    RehearsedMoves,
)
from evenkey.papers.experiments.timed import LEAST, MOST
from evenkey.reports.pictures import Column, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments import Scenario

_PUBLICATIONS = 30_000
_SKEWS = (0.3, 0.5, 0.7)
_STREAMS = (*((skew, False) for skew in _SKEWS), (0.7, True))
_RULES = {
    0.0: "Algorithm 1",
    10.0: "no conditions, a check every 10 s",
    0.5: "no conditions, a check every epoch",
}
"""Rules by which partitions move, by the seconds between checks without conditions."""


class ItemsAndLoad(Experiment):
    id = "joins-section-3-2"
    title = "Items and load of the Dynamic Distributor, and when partitions move"
    summary = (
        "No join runs, and nothing is timed: the Dynamic Distributor is simulated as in Joins, "
        "section 4.6. The streams here have 30,000 publications and those of section 4.6 100,000, "
        "so the figures of equal settings differ a little. Medians of three streams, in brackets "
        "minimum and maximum; the range is the difference of these two. Shifting: other partitions "
        "become the skewed ones every 20 s."
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        stream = Dataset("publications", scale.messages(_PUBLICATIONS))
        return [
            *(
                RehearsedMoves(stream, 0.7, mode, mix)
                for mix in (POINTS, CLUSTERED, HEAVY)
                for mode in (STATIC, DATA, LOAD)
            ),
            *(RehearsedMoves(stream, skew, mode) for skew in _SKEWS for mode in (STATIC, LOAD)),
            *(
                MovedPartitions(stream, skew, LOAD, shifting=shifting, check_seconds=seconds)
                for skew, shifting in _STREAMS
                for seconds in _RULES
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        ranges = {
            name: (frame[f"{name}{MOST}"] - frame[f"{name}{LEAST}"]) / frame[name]
            for name in ("mldc_first", "mldc_later")
        }
        shifting = frame["shifting"].map({True: ", shifting", False: ""})
        return frame.assign(
            **{f"{name}_range": each for name, each in ranges.items()},
            stream="s = " + frame["skew"].map("{:g}".format) + shifting,
            rules=frame["check_seconds"].fillna(0.0).map(_RULES),
        )

    def tables(self, frame: Frame) -> list[Table]:
        kinds = frame["mix"].isin([POINTS, CLUSTERED, HEAVY])
        moved = frame["kind"] == MovedPartitions.kind
        skew = Column("skew", "Skew, nominal s", ".4g")
        return [
            Table(
                "Kinds of publications",
                [
                    Column("mix", "Publications"),
                    Column("mode", "Mode"),
                    Column("mldc_later", "MLDC of load, median after 30 s", ".3f"),
                    Column("redistributions", "Redistributions", ".0f"),
                    Column("fall", "Smallest fall of the MLDC by one", ".3f"),
                ],
                frame[kinds],
                "s = 0.7. The load of points and of clustered polygons is their rows. The fall is "
                "that of what the mode balances, over the last 30 s.",
            ),
            Table(
                "Precision of the MLDC",
                [
                    skew,
                    Column("mode", "Mode"),
                    Column("mldc_first", "MLDC, first epoch", ".3f"),
                    Column("mldc_first_range", "Its range over the median", ".3f"),
                    Column("mldc_later", "MLDC, median after 30 s", ".3f"),
                    Column("mldc_later_range", "range of that over the median", ".3f"),
                    Column("mldc_crossings", "Times that it crosses its median then", ".0f"),
                ],
                frame[~kinds & ~moved],
            ),
            Table(
                "Partitions that move, with and without the conditions",
                [
                    Column("stream", "Stream"),
                    Column("rules", "Rules"),
                    Column("redistributions", "Redistributions", ".0f"),
                    Column("moved", "Partitions moved", ",.0f"),
                    Column("mldc_later", "MLDC, median after 30 s", ".3f"),
                ],
                frame[moved],
                "Without conditions partitions move whenever the MLDC is above the threshold at a "
                "check; the load since the last check counts.",
            ),
        ]
