"""Joins, section 5: the static and streaming data that the modes send to workers, without Spark."""

from __future__ import annotations

from dataclasses import dataclass
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
)
from evenkey.papers.experiments.joins.rehearsal import SPREAD, DrawnJoin, moves_of
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.papers.experiments.scenario import OnMessages

_PUBLICATIONS = 100_000
_MEGABYTE = 1e6
_SENT = {
    "rows": "STAL: rows of the stream",
    "moved": "STAL: static data, once and when they move",
    "static_local": "STAL: all",
    "every_epoch": "STRL: static data, in each epoch",
}


@dataclass(frozen=True)
class SentData(Timed):
    """Adds up the data that reach workers, and the processor time of unpacking them.

    Parameters
    ----------
    skew
        Nominal skew.
    """

    kind: ClassVar[str] = "sent-data"
    fresh: ClassVar[bool] = True

    skew: float

    def once(self, on_messages: OnMessages | None = None) -> TimedRun:
        """Draw one stream, and place its partitions as Dynamic LB STAL does."""
        count = self.dataset.messages or 0
        drawn = DrawnJoin.of(self.skew, SPREAD, self.dataset.seed, count)
        pairs = drawn.touched(drawn.publications)
        rows = drawn.by_epoch(*pairs)
        sendings = 1 + moves_of(DynamicDistributor(copies=False), rows)
        static = _unpacked(drawn.subscriptions, *drawn.touched(drawn.subscriptions), rows.shape[1])
        sent = {
            "rows": _unpacked(drawn.publications, *pairs, rows.shape[1]).sum(axis=1),
            "moved": static @ sendings,
            "every_epoch": static @ (rows > 0).sum(axis=0),
        }
        sent["static_local"] = sent["rows"] + sent["moved"]
        if on_messages is not None:
            on_messages(count)
        figures = {
            f"{what}_{unit}": float(value)
            for what, both in sent.items()
            for unit, value in zip(("mb", "seconds"), both, strict=True)
        }
        return TimedRun({}, figures)


class SentByModes(Experiment):
    id = "joins-section-5"
    title = "The data that the modes send"
    summary = (
        "No join runs. 100,000 publications of sPS, 60 % of them polygons, and 10,000 "
        "subscriptions are drawn on 64 partitions, and the Dynamic Distributor with the parameters "
        "of table 1 places them in 240 epochs of 0.5 s. STAL sends each row of the stream to the "
        "worker of its partition, and a static partition to its first worker and when it moves. "
        "STRL leaves the rows where they are, and in each epoch sends each static partition that "
        "has rows. Sizes are those of the geometries in well-known binary, and unpacking is the "
        "processor time of decoding them, with the preparation of static ones; each partition is "
        "unpacked once, and its time counts as often as it is sent. Places are an invented "
        "country's. Medians of three streams."
    )
    charts = (
        Chart(
            "Data that are sent",
            Axis("skew", "Skew, nominal s", "category"),
            Axis("mb", "MB"),
            "what",
            kind="bars",
        ),
    )

    def scenarios(self, scale: Scale) -> list[SentData]:
        stream = Dataset("publications", scale.messages(_PUBLICATIONS))
        return [SentData(stream, skew, repeats=scale.repeats) for skew in (0.3, 0.7)]

    def tables(self, frame: Frame) -> list[Table]:
        columns = [
            Column("skew", "Skew, nominal s", ".1f"),
            Column("what", "What is sent"),
            Column("mb", "MB", ",.0f"),
            Column("seconds", "Unpacking, s", ",.2f"),
        ]
        return [Table("Data that are sent", columns, _long(frame))]

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(_long(frame)) for chart in self.charts]


def _unpacked(
    geometries: NDArray[np.object_],
    number: NDArray[np.int64],
    partition: NDArray[np.int64],
    partitions: int,
) -> NDArray[np.float64]:
    """Unpack the geometries of each partition; return megabytes and seconds, float64[2, P]."""
    sizes = np.array([len(each) for each in geometries]) / _MEGABYTE
    taken = np.zeros((2, partitions))
    taken[0] = np.bincount(partition, sizes[number], partitions)
    for each in range(partitions):
        packed = geometries[number[partition == each]]
        began = thread_time()
        shapely.prepare(shapely.from_wkb(packed))
        taken[1, each] = thread_time() - began
    return taken


def _long(frame: Frame) -> Frame:
    """Return one row for each scenario and each kind of data, with the ranges of its figures."""
    return of_kinds(frame, "what", _SENT, {"mb": "{}_mb", "seconds": "{}_seconds"})
