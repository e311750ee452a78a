"""PKG, section 6: what the text states beside the figures on questions Q2 and Q3."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd

from evenkey.papers.experiments import Dataset, Experiment, Frame, Scale, Simulation, series
from evenkey.papers.experiments.pkg.draws import FEWEST, Drawn
from evenkey.papers.experiments.pkg.paper_streams import STREAMS, dataset
from evenkey.papers.experiments.pkg.sections.probed_estimates import ProbedEstimates
from evenkey.papers.experiments.pkg.techniques import IMBALANCE, PKG, PROBING, WORKERS, named, pkg
from evenkey.papers.experiments.timed import LEAST, MOST
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot, Table
from evenkey.simulation import simulate

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.papers.experiments import Scenario
    from evenkey.simulation import Feed

_QUARTERS = ("First quarter", "Second", "Third", "Last")
_SPLITS: dict[Feed, str] = {"shuffle": "Uniform", "key": "Skewed"}
_EACH_SECOND = "probing(seconds=1)"
_PERIODS = {"local": "never", PROBING: "60", "probing(seconds=10)": "10", _EACH_SECOND: "1"}
_PEAKED = {
    STREAMS["CT"]: "CT",
    "drift(z=0.7,keys=2900,every=172500)": "Zipf, hot keys change",
    "zipf(z=0.7,keys=2900)": "Zipf",
}
_SAMPLES = 100
_HOURS = 672
_BEGINNING = 2_000_000
_A_MINUTE = 15_278


@dataclass(frozen=True)
class Peaks(Drawn):
    """How far the imbalance of PKG rises at times: several sources, with local estimation.

    It is measured at points of equal distance in time.

    Parameters
    ----------
    workers, sources
        Number of workers, and of sources.
    points
        Number of points.
    """

    kind: ClassVar[str] = "peaks"
    names: ClassVar[tuple[str, ...]] = ("median", "peak", "over_median")

    workers: int
    sources: int
    points: int

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return median and maximum of I(t) over the points, in messages, and their ratio."""
        report = simulate(
            self.stream(seed),
            PKG,
            workers=self.workers,
            sources=self.sources,
            hash="murmur3",
            samples=self.points,
            replication=False,
        )
        imbalance = report.series["imbalance"].to_numpy()
        median, peak = float(np.median(imbalance)), float(imbalance.max())
        return {"median": median, "peak": peak, "over_median": peak / median}


class BesideTheFigures(Experiment):
    id = "pkg-section-6"
    title = "Probing, time and graphs: what the text states beside the figures"
    summary = (
        "Average imbalance through time and with probing: 5 sources, PKG on WP, of which the first "
        "2 million messages (two hours), and on CT, which is whole; with probing also on the first "
        "2 million messages of TW (75 minutes). Peaks: I(t) at each of the 672 "
        "hours of four weeks, means over 5 draws; the two Zipf streams have CT's length, keys and "
        "top share, and differ only in that other keys become hot every week. Graphs: as in figure "
        "8, with the whole look-alikes of SL1 and SL2, and as many edges of that of LJ."
    )
    charts = (
        Chart(
            "Average imbalance of graphs, with uniform and skewed sources",
            Axis("sources", "Sources, S", "category"),
            IMBALANCE,
            "workers",
            "Workers W (split)",
            panels=Grid("symbol"),
            dash="split",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        wikipedia, twitter = (
            dataset(symbol, scale, timed=True, most=_BEGINNING) for symbol in ("WP", "TW")
        )
        cashtags = dataset("CT", scale, quick=2, timed=True)
        edges = dataset("SL2", scale).messages
        graphs = [dataset("SL1", scale), dataset("SL2", scale), dataset("LJ", scale, most=edges)]
        return [
            *(
                pkg(stream, workers, estimation=estimation, samples=_SAMPLES)
                for stream in (wikipedia, cashtags)
                for workers in WORKERS
                for estimation in ("global", "local")
            ),
            *(pkg(twitter, workers, estimation="local", samples=_SAMPLES) for workers in WORKERS),
            *(
                pkg(stream, workers, estimation=estimation, samples=_SAMPLES)
                for stream in (wikipedia, twitter, cashtags)
                for workers in WORKERS
                for estimation in _PERIODS
                # CT has 0.3 messages a second, so each message would have a probe of its own.
                if estimation != "local" and (stream is not cashtags or estimation != _EACH_SECOND)
            ),
            *(ProbedEstimates(wikipedia, workers, 5, _A_MINUTE) for workers in WORKERS),
            *(
                Peaks(Dataset(stream, 690_000), 5 if scale.whole else 1, workers, 5, _HOURS)
                for stream in _PEAKED
                for workers in (5, 10)
            ),
            *(
                pkg(graph, workers, estimation="local", sources=sources, feed=feed)
                for graph in graphs
                for feed in _SPLITS
                for sources in (5, 10, 15, 20)
                for workers in WORKERS
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        simulated = named(frame.assign(grouping=frame["grouping"].fillna("")))
        return simulated.assign(
            period=frame["estimation"].map(_PERIODS),
            split=frame["feed"].map(_SPLITS),
            stream=frame["dataset"].map(_PEAKED),
            ratio=frame["over_median"],
            **{
                f"ratio{LEAST}": frame[f"over_median{FEWEST}"],
                f"ratio{MOST}": frame[f"over_median{MOST}"],
            },
        )

    def tables(self, frame: Frame) -> list[Table]:
        simulated = frame[frame["kind"] == Simulation.kind]
        sampled = simulated[simulated["samples"] > 0]
        workers = Column("workers", "W", "d")
        probed = sampled[sampled["period"].notna()]
        unprobed = sampled["estimation"].isin(["global", "local"]) & (sampled["symbol"] != "TW")
        quarters = _by_quarter(sampled[unprobed])
        return [
            Table(
                "Imbalance through time",
                [
                    Column("symbol", "Data set"),
                    workers,
                    Column("technique", "Technique"),
                    *(Column(each, each, ".1e") for each in ("Whole", *_QUARTERS)),
                ],
                quarters,
                "Means of I(t) / t in the quarters of the stream.",
            ),
            Table(
                "Probing",
                [
                    Column("symbol", "Data set"),
                    workers,
                    Column("period", "Probing, every s"),
                    Column(IMBALANCE.column, "Average imbalance, fraction of m", ".1e"),
                ],
                probed.sort_values(["symbol", "workers"], ascending=[False, True], kind="stable"),
            ),
            Table(
                "Estimates before and after probes",
                [
                    workers,
                    Column("before_probes", "Largest error before a probe, messages", ",.1f"),
                    Column("after_probes", "After it, messages", ",.2f"),
                ],
                frame[frame["kind"] == ProbedEstimates.kind],
                "WP, 5 sources, a probe every 15,278 messages, which are a minute. An error is the "
                "difference between a source's estimate and the worker's load times the source's "
                "share of the messages.",
            ),
            Table(
                "Peaks",
                [
                    Column("stream", "Stream"),
                    workers,
                    Column("median", "I(t), median hour, messages", ".1f"),
                    Column("peak", "Highest hour, messages", ".1f"),
                    Column("ratio", "Highest over median", ".2f"),
                ],
                frame[frame["kind"] == Peaks.kind],
                "In brackets the least and the most of all draws.",
            ),
            Table.crossed(
                "Graphs",
                simulated[(simulated["samples"] == 0)],
                [Column("sources", "S", "d"), workers, Column("split", "Split")],
                "symbol",
                Column(IMBALANCE.column, "{}", ".1e"),
            ),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        graphs = frame[(frame["kind"] == Simulation.kind) & (frame["samples"] == 0)]
        return [chart.plot(graphs) for chart in self.charts]


def _by_quarter(frame: Frame) -> Frame:
    """Return the mean of I(t) / t in the whole stream and in each quarter, per setting."""
    points = series(frame)
    number = points.groupby(["symbol", "workers", "technique"])["messages"].rank(pct=True)
    points = points.assign(
        fraction=points["imbalance"] / points["messages"],
        quarter=pd.cut(number, [0, 0.25, 0.5, 0.75, 1], labels=list(_QUARTERS)).astype(str),
    )
    setting = ["symbol", "workers", "technique"]
    means = points.pivot_table("fraction", setting, "quarter", sort=False)
    whole = points.groupby(setting, sort=False)["fraction"].mean()
    return means.assign(Whole=whole).reset_index()
