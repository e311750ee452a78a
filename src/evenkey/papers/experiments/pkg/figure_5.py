"""PKG, figure 5: imbalance through time, with and without probing (question Q2)."""

from __future__ import annotations

from evenkey.papers.experiments import Experiment, Frame, Scale, Simulation, series
from evenkey.papers.experiments.pkg.paper_streams import STREAMS, dataset
from evenkey.papers.experiments.pkg.techniques import PROBING, WORKERS, named, pkg
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot

_SYMBOLS = ("TW", "WP", "CT")
_ESTIMATIONS = ("global", "local", PROBING)
_SAMPLES = 100
_SECONDS_AN_HOUR = 3600


class ThroughTime(Experiment):
    id = "pkg-figure-5"
    title = "Imbalance through time, with and without probing"
    summary = (
        "Imbalance I(t) as a fraction of the t messages so far, for 5 sources. In L5P1 each source "
        "asks for the workers' true loads every minute of event time. Messages come as often as "
        "in the data sets that the streams stand for; at scale quick TW and WP are their first "
        "minutes or hours, CT is whole. After a probe, the estimates of all sources add up to the "
        "true loads: each source corrects its part of the difference."
    )

    table = "Imbalance"
    columns = (
        Column("symbol", "Data set"),
        Column("workers", "W", "d"),
        Column("technique", "Technique"),
        Column("imbalance_fraction", "I(m)/m at the end", ".1e"),
        Column("average_imbalance_fraction", "Average I(t), fraction of m", ".1e"),
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        return [
            pkg(stream, workers, estimation=estimation, samples=_SAMPLES)
            for stream in (dataset(symbol, scale, quick=2, timed=True) for symbol in _SYMBOLS)
            for workers in WORKERS
            for estimation in _ESTIMATIONS
        ]

    def labelled(self, frame: Frame) -> Frame:
        return named(frame)

    def plots(self, frame: Frame) -> list[Plot]:
        points = series(frame)
        points["fraction"] = points["imbalance"] / points["messages"]
        points["hours"] = points["seconds"] / _SECONDS_AN_HOUR
        return [
            Chart(
                f"{symbol} ({STREAMS[symbol]})",
                Axis("hours", "Event time, hours"),
                Axis("fraction", "Imbalance I(t), fraction of t", "log"),
                "technique",
                panels=Grid("workers", "W = {}"),
            ).plot(rows)
            for symbol, rows in points.groupby("symbol", sort=False)
        ]
