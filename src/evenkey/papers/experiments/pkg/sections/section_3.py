"""PKG, section 3: what key splitting and local load estimation cost and promise."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Scale,
    Simulation,
    published,
    series,
    spelled,
)
from evenkey.papers.experiments.pkg.paper_streams import SECONDS, STREAMS, dataset
from evenkey.papers.experiments.pkg.partial_results import PartialResults
from evenkey.papers.experiments.pkg.sections.routing_entries import RoutingEntries
from evenkey.papers.experiments.pkg.techniques import PKG, WORKERS, named, pkg
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments import Scenario

_NAMES = {
    "kg": "KG",
    "sg": "SG",
    PKG: "PKG",
    "potc": "Static PoTC",
    "on-greedy": "On-Greedy",
}
_SYMBOLS = ("WP", "CT", "LN2")
_FREQUENT = "uniform(keys=1000)"
_PERIODS = (10, 30, 60)
_CHOICES = (2, 4, 9, 20, 40)
_SAMPLES = 1000
_MOST = 1_000_000
_WORKERS_OF_PERIODS = 8


class KeySplittingCosts(Experiment):
    id = "pkg-section-3"
    title = "What key splitting and local load estimation cost"
    summary = (
        "What sources remember: ZF with z = 1 and K = 10,000, 200,000 messages, 10 workers, means "
        "over 10 draws; each source has its own table, and no source knows the others'. Local and "
        "overall loads: 5 sources with local estimation, at 1,000 points of each stream, of WP the "
        "first million messages. Counters: a million messages with 1,000 equally frequent keys, "
        "each of which occurs far more often than there are workers. Partial results: the first 2 "
        "million messages of WP at its rate, 8 workers, 5 sources."
    )
    charts = (
        Chart(
            "Counters of keys that are frequent",
            Axis("workers", "Workers, W"),
            Axis("pairs", "Counters of all workers", "log"),
            "method",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        remembered = Dataset("zipf(z=1,keys=10000)", scale.messages(200_000))
        frequent = Dataset(_FREQUENT, scale.messages(1_000_000))
        wikipedia = dataset("WP", scale, timed=True, most=2_000_000)
        rate = published(STREAMS["WP"]).messages / SECONDS["WP"]
        return [
            *(
                RoutingEntries(remembered, 10 if scale.whole else 2, grouping, 10, sources)
                for grouping in ("potc", "on-greedy", PKG, "kg", "sg")
                for sources in (1, 5)
            ),
            *(
                pkg(
                    dataset(symbol, scale, most=_MOST),
                    workers,
                    estimation="local",
                    samples=_SAMPLES,
                )
                for symbol in _SYMBOLS
                for workers in WORKERS
            ),
            *(
                pkg(frequent, workers, estimation="local", grouping=grouping, replication=True)
                for grouping in ("kg", PKG, "sg")
                for workers in (10, 20, 50, 100)
            ),
            *(
                PartialResults(
                    wikipedia,
                    grouping,
                    _WORKERS_OF_PERIODS,
                    hash="murmur3",
                    epoch_messages=round(seconds * rate),
                )
                for grouping in ("kg", PKG, "sg")
                for seconds in _PERIODS
            ),
            *(
                pkg(
                    frequent,
                    workers,
                    estimation="local",
                    grouping=f"pkg(choices={choices},variant=paper)",
                    replication=True,
                )
                for choices in _CHOICES
                for workers in (5, 40, 50, 100)
                if choices <= workers
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        choices = spelled(frame["grouping"], "choices")
        return named(frame).assign(
            method=frame["grouping"].map(_NAMES),
            choices=choices,
            over_choices=frame["dist_cost"] / choices,
            period=(frame["epoch_messages"] / frame["rate"]).round(),
            partials_per_message=frame["partials"] / frame["messages"],
        )

    def tables(self, frame: Frame) -> list[Table]:
        simulated = frame[frame["kind"] == Simulation.kind]
        frequent = _of_frequent_keys(frame)
        method, workers = Column("method", "Method"), Column("workers", "W", "d")
        return [
            Table(
                "What sources remember",
                [
                    method,
                    Column("sources", "Sources", "d"),
                    Column("entries", "Entries of a source", ",d"),
                    Column("entries_per_key", "Entries per key that it sends", ".3f"),
                    Column("workers_of_a_key", "Workers of a key, mean", ".3f"),
                ],
                frame[frame["kind"] == RoutingEntries.kind],
                "Without agreement between sources, static PoTC and On-Greedy keep a key on one "
                "worker per source only.",
            ),
            Table(
                "Local and overall loads",
                [
                    Column("symbol", "Data set"),
                    workers,
                    Column("imbalances_median", "I(t) over the sum of local ones, median", ".4f"),
                    Column("imbalances", "I(t) over the sum of local ones, most", ".4f"),
                    Column(
                        "maxima_median", "Largest load over the sum of local ones, median", ".4f"
                    ),
                    Column("maxima", "Largest load over the sum of local ones, most", ".4f"),
                ],
                _sums(simulated[simulated["samples"] > 0]),
            ),
            Table(
                "Counters of frequent keys",
                [
                    method,
                    workers,
                    Column("pairs", "Counters", ",d"),
                    Column("dist_cost", "Counters of a key", ".3f"),
                ],
                frequent[frequent["choices"].isna()],
            ),
            Table(
                "Partial results",
                [
                    method,
                    Column("period", "Period, s", "d"),
                    Column("partials", "Partial results", ",d"),
                    Column("partials_per_message", "Per message", ".4f"),
                ],
                frame[frame["kind"] == PartialResults.kind],
            ),
            Table(
                "Memory of more choices",
                [
                    Column("choices", "d", "d"),
                    workers,
                    Column("dist_cost", "Counters of a key", ".3f"),
                    Column("over_choices", "Over d", ".3f"),
                ],
                frequent[frequent["choices"].notna()],
                "KG has one counter for each key.",
            ),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        frequent = _of_frequent_keys(frame)
        return [chart.plot(frequent[frequent["choices"].isna()]) for chart in self.charts]


def _of_frequent_keys(frame: Frame) -> Frame:
    """Return the simulations in which all keys are frequent."""
    return frame[(frame["kind"] == Simulation.kind) & (frame["dataset"] == _FREQUENT)]


def _sums(frame: Frame) -> Frame:
    """Return, per stream and number of workers, the median and largest ratios of all points."""
    points = series(frame)
    mean = points["messages"] / points["workers"]
    ratios = points.assign(
        imbalances=points["imbalance"] / points["local_imbalance"],
        maxima=(points["imbalance"] + mean) / (points["local_imbalance"] + mean),
    ).groupby(["symbol", "workers"], sort=False)[["imbalances", "maxima"]]
    return ratios.max().join(ratios.median(), rsuffix="_median").reset_index()
