"""Joins, section 4.6: skew, and Algorithm 1 through time, without Spark."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa
import shapely

from evenkey.core.metrics import max_load_distance, max_over_mean
from evenkey.joins import DynamicDistributor, leaves_of
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Measurement,
    Scale,
    Scenario,
    medians,
    series,
)
from evenkey.papers.publish_subscribe.places import (
    CandidateOwners,
    PublicationMix,
    Publications,
    draw_subscriptions,
    skewed_workers,
    synthetic_atlas,
)
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.papers.experiments.scenario import OnMessages

_WORKERS, _PARTITIONS, _SUBSCRIPTIONS = 16, 64, 10_000
_PUBLICATIONS, _SKEW_PUBLICATIONS = 100_000, 10_000
_EPOCHS, _SECONDS = 240, 120.0
_HOT = skewed_workers(_WORKERS)
_SKEWS = (0.3, 0.4, 0.5, 0.6, 0.7)
_PIPELINES = {"sps": "sPS", "rihps": "RIhPS", "risps": "RIsPS"}
_SHIFT_SECONDS, _SHIFT = 20.0, 3
_STATIC, _DYNAMIC, _NO_WAIT = "static-stal", "dynamic-lb-stal", "dynamic-lb-stal, N = 0"


@dataclass(frozen=True)
class SkewReached(Scenario):
    """Draws publications, and measures the skew of the rows that they become.

    Parameters
    ----------
    pipeline
        ``sps``, ``rihps`` or ``risps``.
    skew
        Nominal skew.
    clustered
        Whether polygons are 30 % of the publications and fill their own regions, as in figure 4.
        Otherwise they are a share `polygon_share` everywhere, as in figures 6 and 7.
    polygon_share
        Share of polygons, if they are not clustered.
    seeds
        Number of streams. The result has the medians, minima and maxima.
    """

    kind: ClassVar[str] = "skew-reached"

    pipeline: str
    skew: float
    clustered: bool = False
    polygon_share: float = 0.6
    seeds: int = field(default=3, kw_only=True)

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Draw the streams."""
        seeds = range(self.dataset.seed, self.dataset.seed + self.seeds)
        count = self.dataset.messages or _SKEW_PUBLICATIONS
        runs = [self._once(seed, count) for seed in seeds]
        if on_messages is not None:
            on_messages(self.seeds * count)
        return Measurement({"messages": self.seeds * count, **medians(runs)})

    def _once(self, seed: int, count: int) -> dict[str, float]:
        mix = (0.3, 1.0) if self.clustered else (self.polygon_share, 0.0)
        partitions = 2 * _PARTITIONS if self.clustered else _PARTITIONS
        subscriptions = draw_subscriptions(synthetic_atlas(), _SUBSCRIPTIONS, seed)
        leaves = leaves_of(subscriptions["geometry"].to_numpy(), "kdb", partitions)
        owners = None
        if self.pipeline != "sps":
            by_hash = self.pipeline == "rihps"
            owners = CandidateOwners.of(subscriptions, leaves, partitions, by_hash=by_hash)
        made = Publications(
            synthetic_atlas(),
            leaves,
            _WORKERS,
            PublicationMix(self.skew, *mix),
            seed,
            owners=owners,
        )
        shapes = shapely.from_wkb(made.make(np.arange(count))["geometry"].to_numpy())
        if owners is not None:
            every, of_hot = owners.rows(shapes, np.arange(partitions) % _WORKERS < _HOT)
            return {"realised": float(of_hot.sum() / every.sum())}
        rows = np.bincount(leaves.touched(shapely.bounds(shapes))[1] % _WORKERS)
        realised = float(rows[:_HOT].sum() / rows.sum())
        return {"realised": realised, "max_over_mean": max_over_mean(rows)}


@lru_cache(maxsize=4)
def _rows(skew: float, seed: int, count: int) -> NDArray[np.float64]:
    """Count the rows of each partition in each epoch of an sPS stream, float64[E, P]."""
    atlas = synthetic_atlas()
    subscriptions = draw_subscriptions(atlas, _SUBSCRIPTIONS, seed)
    leaves = leaves_of(subscriptions["geometry"].to_numpy(), "kdb", _PARTITIONS)
    made = Publications(atlas, leaves, _WORKERS, PublicationMix(skew, 0.6), seed)
    shapes = shapely.from_wkb(made.make(np.arange(count))["geometry"].to_numpy())
    number, partition = leaves.touched(shapely.bounds(shapes))
    cells = number * _EPOCHS // count * _PARTITIONS + partition
    counts = np.bincount(cells, minlength=_EPOCHS * _PARTITIONS)
    return counts.reshape(_EPOCHS, _PARTITIONS).astype(np.float64)


@dataclass(frozen=True)
class RehearsedJoin(Scenario):
    """Plays the epochs of sPS: the Distributor places partitions by the rows of earlier epochs.

    Parameters
    ----------
    skew
        Nominal skew.
    dynamic
        Whether partitions move.
    wait_periods
        As for `evenkey.joins.DynamicDistributor`.
    shifting
        Whether other partitions become the skewed ones every 20 s.
    seeds
        Number of streams. The result has the medians, minima and maxima.
    """

    kind: ClassVar[str] = "rehearsed-join"

    skew: float
    dynamic: bool
    wait_periods: int = 3
    shifting: bool = False
    seeds: int = field(default=3, kw_only=True)

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Play the streams; the series is that of the first, with one row per epoch."""
        seeds = range(self.dataset.seed, self.dataset.seed + self.seeds)
        runs = [self._once(seed) for seed in seeds]
        messages = self.seeds * (self.dataset.messages or _PUBLICATIONS)
        if on_messages is not None:
            on_messages(messages)
        return Measurement(
            {"messages": messages, **medians([figures for figures, _ in runs])}, runs[0][1]
        )

    def _once(self, seed: int) -> tuple[dict[str, float], pa.Table]:
        count = self.dataset.messages or _PUBLICATIONS
        rows = _rows(self.skew, seed, count)
        length = _SECONDS / _EPOCHS
        ends = length * np.arange(1, _EPOCHS + 1)
        if self.shifting:
            phases = ((ends - length) // _SHIFT_SECONDS).astype(int)
            moved = zip(rows, phases, strict=True)
            rows = np.array([np.roll(epoch, _SHIFT * phase) for epoch, phase in moved])
        distributor = DynamicDistributor(
            wait_periods=self.wait_periods,
            copies=False,
            threshold=DynamicDistributor.threshold if self.dynamic else float("inf"),
        )
        placed = distributor.rehearse(rows, _WORKERS, epoch_seconds=length)
        slots = np.array(
            [each.loads(load, _WORKERS) for each, load in zip(placed, rows, strict=True)]
        )
        throughput = count / _EPOCHS / slots.max(axis=1)
        window = round(distributor.period * DynamicDistributor.wait_periods / length)
        mldc = np.array(
            [
                max_load_distance(
                    each.loads(rows[max(0, end - window) : end].sum(axis=0), _WORKERS)
                )
                for end, each in enumerate(placed, 1)
            ]
        )
        moves = np.flatnonzero([a != b for a, b in pairwise(placed)])
        hot = np.arange(_PARTITIONS) % _WORKERS < _HOT
        shares = rows[:, hot].sum(axis=1) / rows.sum(axis=1)
        figures = {
            "crossings_percent": 100 * _crossings(throughput) / (_EPOCHS - 1),
            "mldc_first": float(mldc[0]),
            "mldc_later": float(np.median(mldc[window:])),
            "redistributions": float(len(moves)),
            "share": float(rows[:, hot].sum() / rows.sum()),
            "share_smallest": float(shares.min()),
            "share_largest": float(shares.max()),
        }
        above = np.flatnonzero(mldc > DynamicDistributor.threshold)
        if len(moves) and len(above):
            figures["reaction_seconds"] = float(ends[moves[0]] - ends[above[0]])
        if len(moves) > 1:
            figures["pause_seconds"] = float(np.diff(ends[moves]).min())
        table = {"seconds": ends, "throughput": throughput, "mldc": mldc}
        return figures, pa.table(table)


def _crossings(values: NDArray[np.float64]) -> int:
    """Count how often values go from one side of their mean to the other."""
    return int(np.count_nonzero(np.diff(values > values.mean())))


class SkewAndTime(Experiment):
    id = "joins-section-4-6"
    title = "Skew, and the Dynamic Distributor through time"
    summary = (
        "No join runs, and nothing is timed. The generators of figures 4 to 7 draw 10,000 "
        "subscriptions and the publications, and each row that a publication becomes counts as "
        "one unit of load on 16 workers. The Dynamic Distributor, with the parameters of table 1, "
        "places the partitions of sPS in 240 epochs of 0.5 s. Throughput is the publications of "
        "an epoch over the rows of its most loaded worker. MLDC is that by which the Distributor "
        "decides: of the rows of the last 30 s, as the partitions are placed now. Medians of three "
        "streams, in brackets minimum and maximum."
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        few = Dataset("publications", scale.messages(_SKEW_PUBLICATIONS))
        stream = Dataset("publications", scale.messages(_PUBLICATIONS))
        return [
            SkewReached(few, "sps", 3 / 16),
            SkewReached(few, "sps", 3 / 16, polygon_share=0.0),
            *(
                SkewReached(few, pipeline, skew, clustered)
                for pipeline in ("rihps", "risps")
                for clustered in (False, True)
                for skew in _SKEWS
            ),
            *(RehearsedJoin(stream, skew, dynamic) for skew in _SKEWS for dynamic in (False, True)),
            *(
                RehearsedJoin(stream, 0.7, dynamic=True, wait_periods=periods, shifting=True)
                for periods in (3, 0)
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        modes = [
            (_NO_WAIT if row["wait_periods"] == 0 else _DYNAMIC) if row["dynamic"] else _STATIC
            for row in frame.to_dict("records")
        ]
        mixes = [
            "clustered"
            if row["clustered"] is True
            else f"{100 * row['polygon_share']:.0f} % polygons"
            for row in frame.to_dict("records")
        ]
        return frame.assign(mode=modes, mix=mixes, pipeline=frame["pipeline"].map(_PIPELINES))

    def tables(self, frame: Frame) -> list[Table]:
        skew, mode = Column("skew", "Skew, nominal s", ".4g"), Column("mode", "Mode")
        played = frame["kind"] == RehearsedJoin.kind
        shifting = frame["shifting"] == True  # noqa: E712 - None where it is no field
        return [
            Table(
                "Skew that is reached",
                [
                    Column("pipeline", "Pipeline"),
                    Column("mix", "Publications"),
                    skew,
                    Column("realised", "Skew, realised", ".3f"),
                    Column("max_over_mean", "Maximum load, over the mean", ".3f"),
                ],
                frame[~played],
            ),
            Table(
                "sPS through time",
                [
                    skew,
                    mode,
                    Column("crossings_percent", "Epochs that cross the mean throughput, %", ".0f"),
                    Column("mldc_first", "MLDC, first epoch", ".3f"),
                    Column("mldc_later", "MLDC, median after 30 s", ".3f"),
                    Column("redistributions", "Redistributions", ".0f"),
                    Column("reaction_seconds", "First of them after, s", ".1f"),
                ],
                frame[played & ~shifting],
                "The last column: seconds from the first epoch with an MLDC above the threshold.",
            ),
            Table(
                "Share of rows for the partitions of 3 of 16 workers, by epoch",
                [
                    skew,
                    Column("share", "average", ".4f"),
                    Column("share_smallest", "smallest", ".4f"),
                    Column("share_largest", "largest", ".4f"),
                ],
                frame[played & ~shifting & (frame["mode"] == _STATIC)],
            ),
            Table(
                "Skew that moves to other partitions every 20 s",
                [
                    skew,
                    mode,
                    Column("redistributions", "Redistributions", ".0f"),
                    Column("pause_seconds", "Shortest time between two, s", ".1f"),
                ],
                frame[played & shifting],
            ),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        played = frame[(frame["kind"] == RehearsedJoin.kind) & (frame["shifting"] == False)]  # noqa: E712 - None elsewhere
        points = series(played.assign(panel=[f"s = {skew:g}" for skew in played["skew"]]))
        seconds = Axis("seconds", "Stream time, s")
        return [
            Chart(title, seconds, axis, "mode", panels=Grid("panel")).plot(points)
            for title, axis in (
                ("Throughput through time", Axis("throughput", "Publications per row")),
                ("MLDC through time", Axis("mldc", "MLDC, of the last 30 s")),
            )
        ]
