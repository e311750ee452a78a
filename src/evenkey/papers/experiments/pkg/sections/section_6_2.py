"""PKG, section 6.2: counters of the deployment, the transition, and overloaded workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale, Simulation
from evenkey.papers.experiments.pkg.deployment import MESSAGES_PER_SECOND, SOURCES, TW, WP
from evenkey.papers.experiments.pkg.paper_streams import STREAMS, dataset
from evenkey.papers.experiments.pkg.partial_results import PartialResults
from evenkey.papers.experiments.pkg.sections.loaded_workers import (
    FewestWorkers,
    MostLoaded,
)
from evenkey.papers.experiments.pkg.techniques import IMBALANCE, PKG, named, pkg
from evenkey.reports.pictures import Column, Table

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.papers.experiments import Scenario

_SCHEMES = {"kg": "KG", PKG: "PKG", "sg": "SG"}
_STATIC = {PKG: "PKG", "potc": "Static PoTC"}
_SECONDS, _PERIODS = 60, 2
_PART = 500_000
_LONGER = 5_000_000
"""Messages with which the errors of five sources are small beside 0.1 % of the messages."""
_TRANSITION = {
    "WP": {15: "0.7", 18: "0.83", 21: "1.0", 26: "1.2", 30: "1.4"},
    "TW": {52: "0.7", 62: "0.83", 75: "1.0", 90: "1.2", 105: "1.4"},
}
"""Numbers of workers around 2 / p1, and what they are of it."""
_RATES, _CAPACITY = (6000, 9000, 12_000, 18_000), 2500
_SHORT = 200_000
_OVERLOADED = (("WP", 50), ("WP", 100), ("CT", 50), ("CT", 100), ("TW", 100))


class DeploymentWithoutClock(Experiment):
    id = "pkg-section-6-2"
    title = "Counters of the deployment, and overloaded workers"
    summary = (
        "Claims of section 6.2 that need no clock. Counters: the topologies of figures 10 b and "
        "c, 8 sources, WP whole; two periods of 60 s, of 816,000 messages each (13,600 a second, "
        "as in figure 10 a). "
        "Transition: PKG with 5 sources on the first five million messages, W around 2 / p1, which "
        "is 21.5 on WP and 74.9 on TW. Hot keys that change: CT, whole. Overloaded workers: one "
        "source, the first 500,000 messages. Fewest workers: the first 200,000 messages of WP, "
        "one source; a worker processes 2,500 messages a second, 0.4 ms each as in figure 10 b; "
        "medians of five hashes, in brackets minimum and maximum."
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        period = scale.messages(round(_SECONDS * MESSAGES_PER_SECOND), quick=0.1)
        return [
            *_counters(Simulation, dataset("WP", scale), WP.key_workers, WP.split_workers),
            *(
                each
                for topology in (WP, TW)
                for each in _counters(
                    PartialResults,
                    Dataset(STREAMS[topology.symbol], _PERIODS * period),
                    topology.key_workers,
                    topology.split_workers,
                    epoch_messages=period,
                )
            ),
            *(
                pkg(dataset(symbol, scale, most=_LONGER), workers, estimation="local")
                for symbol, numbers in _TRANSITION.items()
                for workers in numbers
            ),
            *(
                pkg(dataset("CT", scale), workers, estimation="global", grouping=grouping)
                for grouping in _STATIC
                for workers in (5, 10)
            ),
            *(
                MostLoaded(dataset(symbol, scale, most=_PART), 1, PKG, workers)
                for symbol, workers in _OVERLOADED
            ),
            *(
                FewestWorkers(Dataset(STREAMS["WP"], _SHORT), grouping, rate, _CAPACITY)
                for rate in _RATES
                for grouping in _SCHEMES
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        labelled = named(frame.assign(grouping=frame["grouping"].fillna("")))
        rows = zip(labelled["symbol"], labelled["workers"], strict=True)
        return labelled.assign(
            method=frame["grouping"].map(_STATIC),
            scheme=frame["grouping"].map(_SCHEMES),
            of_a_worker=frame["partials"] / _PERIODS / frame["workers"],
            of_limit=[_TRANSITION.get(symbol, {}).get(workers, "") for symbol, workers in rows],
            part=frame["imbalance"] / frame["messages"],
        )

    def tables(self, frame: Frame) -> list[Table]:
        symbol, workers = Column("symbol", "Data set"), Column("workers", "W", "d")
        scheme = Column("scheme", "Scheme")
        simulated = frame["kind"] == Simulation.kind
        periods = frame[frame["kind"] == PartialResults.kind]
        drift = simulated & (frame["symbol"] == "CT")
        average = Column(IMBALANCE.column, "Average imbalance, fraction of m", ".1e")
        return [
            Table(
                "Counters without aggregation",
                [symbol, scheme, workers, Column("pairs", "Counters", ",d")],
                frame[simulated & frame["replication"].eq(other=True)],
            ),
            *(
                Table(
                    f"Counters of a period of 60 s on {topology.symbol}",
                    [scheme, workers, Column("of_a_worker", "Counters of a worker, mean", ",d")],
                    periods[periods["symbol"] == topology.symbol],
                )
                for topology in (WP, TW)
            ),
            Table(
                "The transition between balanced and unbalanced",
                [
                    symbol,
                    workers,
                    Column("of_limit", "W over 2 / p1"),
                    average,
                ],
                frame[simulated & (frame["of_limit"] != "")],
            ),
            Table(
                "Hot keys that change",
                [symbol, Column("method", "Method"), workers, average],
                frame[drift],
                "Global information; static PoTC keeps a key where its first message went.",
            ),
            Table(
                "Overloaded workers",
                [
                    symbol,
                    workers,
                    Column("part", "I(m) / m", ".1e"),
                    Column("of_hottest", "The most loaded one is the hottest key's", "d"),
                ],
                frame[frame["kind"] == MostLoaded.kind],
                "1: it is one of the two candidates of the most frequent key.",
            ),
            Table(
                "Fewest workers that keep up",
                [
                    Column("per_second", "Messages/s", ",.0f"),
                    scheme,
                    Column("needed", "Workers", ".0f"),
                ],
                frame[frame["kind"] == FewestWorkers.kind],
                "Workers keep up if none has more messages than it processes in the stream's time.",
            ),
        ]


def _counters(
    kind: type[Simulation],
    stream: Dataset,
    key_workers: int,
    split_workers: int,
    epoch_messages: int | None = None,
) -> Iterator[Simulation]:
    """Declare a simulation of each scheme that counts the pairs of key and worker."""
    for grouping in _SCHEMES:
        yield kind(
            stream,
            grouping,
            key_workers if grouping == "kg" else split_workers,
            SOURCES,
            hash="murmur3",
            epoch_messages=epoch_messages,
        )
