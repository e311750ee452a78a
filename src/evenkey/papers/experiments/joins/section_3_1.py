"""Joins, sections 3 to 4: processor time of the steps of a pipeline, and of the Distributor."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from time import thread_time
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import shapely

from evenkey.joins import DynamicDistributor
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Scale,
    Timed,
    TimedRun,
    of_kinds,
    of_steps,
)
from evenkey.papers.experiments.joins.rehearsal import (
    CLUSTERED,
    LENGTH,
    POINTS,
    STREAM_SECONDS,
    WINDOW,
    WORKERS,
    DrawnJoin,
    mldc_by,
)
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.papers.experiments import Scenario
    from evenkey.papers.experiments.scenario import OnMessages

_PUBLICATIONS = 30_000
_PIPELINES = {"sps": "sPS", "spis": "sPIS"}
_STEPS = {
    "unpack": "unpacking publications",
    "route": "finding their partitions",
    "join": "join: finding candidates",
    "match": "matching candidates",
}
_BALANCED = {
    "nothing": "nothing (static)",
    "join": "the join alone",
    "whole": "join and matching",
}
_CHECKS = {0.5: "in each epoch, 0.5 s", 10.0: "every 10 s (table 1)"}


@dataclass(frozen=True)
class StepsOfPipeline(Timed):
    """Measures the processor time of the steps that a publication goes through.

    The time of the join and of matching is measured for each partition, apart for points and for
    polygons. The Distributor then balances the stream's epochs by the one or by both.

    Parameters
    ----------
    pipeline
        ``sps``: the candidates of a publication are all subscriptions of its partition. ``spis``:
        an index of the partition finds them by their envelopes.
    skew
        Nominal skew.
    """

    kind: ClassVar[str] = "steps-of-pipeline"
    fresh: ClassVar[bool] = True

    pipeline: str
    skew: float

    def once(self, on_messages: OnMessages | None = None) -> TimedRun:
        """Take the steps with one stream."""
        count = self.dataset.messages or 0
        drawn = DrawnJoin.of(self.skew, CLUSTERED, self.dataset.seed, count)
        began = thread_time()
        shapes = shapely.from_wkb(drawn.publications)
        unpacked = thread_time()
        pairs = drawn.leaves.touched(shapely.bounds(shapes))
        routed = thread_time()
        join, match = self._of_rows(drawn, shapes, *pairs)
        prepared = _prepared(drawn) * len(join) / float((join + match).sum())
        seconds = {
            "unpack": unpacked - began,
            "route": routed - unpacked,
            "join": float(join.sum()),
            "match": float(match.sum()),
        }
        whole = drawn.by_epoch(*pairs, join + match)
        loads = {"nothing": whole, "join": drawn.by_epoch(*pairs, join), "whole": whole}
        if on_messages is not None:
            on_messages(count)
        return TimedRun(
            {},
            {
                "prepared": prepared,
                **of_steps(seconds, "us", 1e6 / count),
                **{
                    f"{balanced}_mldc": _mldc(load, whole, static=balanced == "nothing")
                    for balanced, load in loads.items()
                },
            },
        )

    def _of_rows(
        self,
        drawn: DrawnJoin,
        shapes: NDArray[np.object_],
        number: NDArray[np.int64],
        partition: NDArray[np.int64],
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return the seconds of join and matching of each row: the mean of its partition and kind.

        Parameters
        ----------
        drawn
            Both sides.
        shapes
            The publications.
        number, partition
            The publication and the partition of each row, int64[n].
        """
        subscriptions = shapely.from_wkb(drawn.subscriptions)
        shapely.prepare(subscriptions)
        static, of_static = drawn.touched(drawn.subscriptions)
        polygons = shapely.get_dimensions(shapes)[number] > 0
        join, match = np.zeros(len(number)), np.zeros(len(number))
        for each in range(drawn.leaves.partitions):
            there = subscriptions[static[of_static == each]]
            index = shapely.STRtree(there) if self.pipeline == "spis" else None
            for kind in (False, True):
                rows = np.flatnonzero((partition == each) & (polygons == kind))
                if not len(rows) or not len(there):
                    continue
                streamed = shapes[number[rows]]
                began = thread_time()
                if index is None:
                    left = np.repeat(np.arange(len(rows)), len(there))
                    right = np.tile(np.arange(len(there)), len(rows))
                else:
                    left, right = index.query(streamed)
                joined = thread_time()
                shapely.intersects(there[right], streamed[left])
                matched = thread_time()
                join[rows] = (joined - began) / len(rows)
                match[rows] = (matched - joined) / len(rows)
        return join, match


@dataclass(frozen=True)
class ChecksOfDistributor(Timed):
    """Measures the processor time of the Distributor on a stream whose load does not change.

    Parameters
    ----------
    seconds
        Time between two checks, in seconds of the stream. Loads count for the usual 30 s.
    """

    kind: ClassVar[str] = "checks-of-distributor"
    fresh: ClassVar[bool] = True

    seconds: float

    def once(self, on_messages: OnMessages | None = None) -> TimedRun:
        """Play one stream without skew."""
        count = self.dataset.messages or 0
        drawn = DrawnJoin.of(3 / WORKERS, POINTS, self.dataset.seed, count)
        load = drawn.by_epoch(*drawn.touched(drawn.publications))
        window = round(WINDOW * LENGTH / self.seconds)
        distributor = DynamicDistributor(period=self.seconds, wait_periods=window, copies=False)
        began = thread_time()
        placed = distributor.rehearse(load, WORKERS, epoch_seconds=LENGTH)
        taken = thread_time() - began
        if on_messages is not None:
            on_messages(count)
        return TimedRun(
            {},
            {
                "core_percent": 100 * taken / STREAM_SECONDS,
                "moves": float(sum(one != other for one, other in pairwise(placed))),
            },
        )


class ProcessorTime(Experiment):
    id = "joins-section-3-1"
    title = "Processor time of a pipeline's steps and of the Distributor"
    summary = (
        "No join runs on Spark. A stream of 30,000 publications at s = 0.7, 30 % of them polygons "
        "in regions of their own, goes through the steps of section 4.2, with 10,000 subscriptions "
        "on 128 partitions: publications are unpacked, their partitions found, their candidates "
        "found in each partition (the join), and each pair of a publication and a candidate "
        "tested. Join and matching are timed for each partition, apart for points and polygons. "
        "Then the Dynamic Distributor, with the parameters of table 1, places the partitions in "
        "240 epochs of 0.5 s, by the time of the join alone or by that of both. Last, it checks "
        "100,000 points without skew at both intervals. Times are processor time, places are an "
        "invented country's. Medians of three streams."
    )
    charts = (
        Chart(
            "Processor time of the steps",
            Axis("name", "Pipeline", "category"),
            Axis("us", "Time of a publication, µs", "log"),
            "step",
            kind="bars",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        stream = Dataset("publications", scale.messages(_PUBLICATIONS))
        steady = Dataset("publications", scale.messages(100_000))
        return [
            *(
                StepsOfPipeline(stream, pipeline, 0.7, repeats=scale.repeats)
                for pipeline in _PIPELINES
            ),
            *(ChecksOfDistributor(steady, each, repeats=scale.repeats) for each in _CHECKS),
        ]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(
            name=frame["pipeline"].map(_PIPELINES), checks=frame["seconds"].map(_CHECKS)
        )

    def tables(self, frame: Frame) -> list[Table]:
        pipeline = Column("name", "Pipeline")
        steps = frame[frame["kind"] == StepsOfPipeline.kind]
        return [
            Table(
                "Processor time of the steps",
                [
                    pipeline,
                    Column("step", "Step"),
                    Column("us", "Time of a publication, µs", ",.1f"),
                    Column("percent", "Share, %", ".1f"),
                ],
                _by_step(frame),
            ),
            Table(
                "Static data",
                [
                    pipeline,
                    Column("prepared", "Preparing a subscription, over join and matching", ".2f"),
                ],
                steps,
                "Unpacking and preparing a subscription that a worker gets, over the join and "
                "matching of a row of the stream.",
            ),
            Table(
                "Load that is balanced",
                [
                    pipeline,
                    Column("balanced", "Balanced by the time of"),
                    Column("mldc", "MLDC of join and matching, median after 30 s", ".3f"),
                ],
                of_kinds(steps, "balanced", _BALANCED, {"mldc": "{}_mldc"}),
            ),
            Table(
                "Checks of a stream that does not change",
                [
                    Column("checks", "Checks"),
                    Column("core_percent", "Processor time, % of a core", ".4f"),
                    Column("moves", "Redistributions", ".0f"),
                ],
                frame[frame["kind"] == ChecksOfDistributor.kind],
            ),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(_by_step(frame)) for chart in self.charts]


def _by_step(frame: Frame) -> Frame:
    steps = frame[frame["kind"] == StepsOfPipeline.kind]
    return of_kinds(steps, "step", _STEPS, {"us": "{}_us", "percent": "{}_percent"})


def _prepared(drawn: DrawnJoin) -> float:
    """Return the seconds of unpacking and preparing a subscription."""
    began = thread_time()
    shapely.prepare(shapely.from_wkb(drawn.subscriptions))
    return (thread_time() - began) / len(drawn.subscriptions)


def _mldc(load: NDArray[np.float64], whole: NDArray[np.float64], *, static: bool) -> float:
    """Balance by one load; return the MLDC of the whole load, its median after 30 s."""
    # The Distributor counts a unit of load as an item, so a row is one unit in the mean.
    scaled = load * (_PUBLICATIONS / load.sum())
    threshold = float("inf") if static else DynamicDistributor.threshold
    distributor = DynamicDistributor(threshold=threshold, copies=False)
    return float(np.median(mldc_by(distributor, scaled, whole)[WINDOW:]))
