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
    PricedMoves,
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

_PRICES = {0.01: "0.01 of a row's time", 1.0: "a row's time"}
"""What a subscription that moves takes. Its unpacking and preparing take about 0.01 of the time of
joining and matching a row of the stream, see joins-section-3-1; the paper's moves are not timed."""
_PARAMETERS = {
    "threshold": ("threshold", (0.25, 1.0)),
    "min_items": ("M, rows", (0, 10_000)),
    "wait_periods": ("N", (1, 6)),
    "period": ("D, s", (5, 20)),
    "min_improvement": ("miMLDC", (0.1, 0.6)),
}
"""The name in table 1 of each parameter, and values around that of the table."""


class ItemsAndLoad(Experiment):
    id = "joins-section-3-2"
    title = "Items and load of the Dynamic Distributor, and when partitions move"
    summary = (
        "No join runs, and nothing is timed: the Dynamic Distributor is simulated as in Joins, "
        "section 4.6. The streams here have 30,000 publications and those of section 4.6 100,000, "
        "so the figures of equal settings differ a little. Medians of three streams, in brackets "
        "all three; the range is the difference of the largest and the smallest. Shifting: other "
        "partitions become the skewed ones every 20 s."
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
            *(
                PricedMoves(stream, skew, LOAD, price=price, parameter=parameter, value=value)
                for skew in (0.3, 0.7)
                for price in _PRICES
                for parameter, (_, values) in _PARAMETERS.items()
                for value in values
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
            named=frame["parameter"].map({name: title for name, (title, _) in _PARAMETERS.items()}),
            priced=frame["price"].map(_PRICES),
        )

    def tables(self, frame: Frame) -> list[Table]:
        kinds = frame["mix"].isin([POINTS, CLUSTERED, HEAVY])
        moved = frame["kind"] == MovedPartitions.kind
        priced = frame["kind"] == PricedMoves.kind
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
                frame[~kinds & ~moved & ~priced],
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
            Table(
                "Parameters of Algorithm 1, with the time that moves take",
                [
                    skew,
                    Column("priced", "A subscription that moves takes"),
                    Column("named", "Parameter"),
                    Column("value", "Value", ",.5g"),
                    Column("over_usual", "Time of the stream, over that of table 1", ".3f"),
                    Column("paused_percent", "Of it moves, %", ".1f"),
                ],
                frame[priced],
                "The other parameters are those of table 1: threshold 0.5, M = 1,000, N = 3, "
                "D = 10 s, miMLDC = 0.3. The time is the rows of the most loaded worker of each "
                "epoch; after a move, the worker that gets most subscriptions is waited for.",
            ),
        ]
