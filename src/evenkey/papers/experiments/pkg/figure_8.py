"""PKG, figure 8: sources that get parts of different sizes of the stream (question Q3)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments import (
    EPINIONS,
    Dataset,
    Experiment,
    Frame,
    Scale,
    Simulation,
)
from evenkey.papers.experiments.pkg.paper_streams import STREAMS, dataset
from evenkey.papers.experiments.pkg.techniques import (
    IMBALANCE,
    WORKERS,
    imbalance_table,
    named,
    pkg,
)
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Table

if TYPE_CHECKING:
    from evenkey.simulation import Feed

_SOURCES = (5, 10, 15, 20)
_SPLITS: dict[Feed, str] = {"shuffle": "Uniform", "key": "Skewed"}


class SkewedSources(Experiment):
    id = "pkg-figure-8"
    title = "Skewed sources are as good as uniform ones"
    summary = (
        "A message is an edge of a directed graph, its key the vertex that the edge leads to. "
        "Uniform: the edges go to the sources in turn. Skewed: each vertex belongs to a source, "
        "which gets all edges that leave the vertex, so that sources get different numbers of "
        "edges. The graphs are Epinions, which is real, and a synthetic look-alike of LiveJournal, "
        "whose senders are as skewed as its keys. The file of Epinions is undirected: it has each "
        "pair of vertices once, and here the edge leads to the higher number."
    )

    charts = (
        Chart(
            "Average imbalance with uniform and skewed sources",
            Axis("sources", "Sources, S", "category"),
            IMBALANCE,
            "workers",
            "Workers W (split)",
            panels=Grid("graph"),
            dash="split",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Simulation]:
        return [
            pkg(graph, workers, estimation="local", sources=sources, feed=feed)
            for graph in (Dataset(EPINIONS), dataset("LJ", scale))
            for feed in _SPLITS
            for sources in _SOURCES
            for workers in WORKERS
        ]

    def labelled(self, frame: Frame) -> Frame:
        names = {EPINIONS: "Epinions (real)", STREAMS["LJ"]: "LiveJournal (look-alike)"}
        graphs, splits = frame["dataset"].map(names), frame["feed"].map(_SPLITS)
        return named(frame).assign(graph=graphs, split=splits)

    def tables(self, frame: Frame) -> list[Table]:
        setting = [
            Column("graph", "Graph"),
            Column("sources", "S", "d"),
            Column("workers", "W", "d"),
        ]
        return [imbalance_table(frame, setting, "split")]
