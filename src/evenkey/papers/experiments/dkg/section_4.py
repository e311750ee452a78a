"""DKG, section 4: ten and a hundred machines at a skewness of 80 %."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pyarrow as pa

from evenkey.papers.experiments import Experiment, Frame, Measurement, Scale, Simulation, series
from evenkey.papers.experiments.dkg.methods import METHODS, SPLITTERS, SPOUTS, dataset, named
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Plot

if TYPE_CHECKING:
    from evenkey.simulation import SimulationReport

_WORKERS = (10, 100)
_AT_WORK = 0.1
"""A worker with a smaller part of the maximum load waits for nine tenths of the time."""


@dataclass(frozen=True)
class WorkerLoads(Simulation):
    """A simulation whose series has the load of each worker, the most loaded one first."""

    kind: ClassVar[str] = "worker-loads"

    def measured(self, report: SimulationReport) -> Measurement:
        """Return the figures of a report, and ``place`` and ``share_percent`` of each worker."""
        loads = np.sort(report.loads)[::-1]
        shares = 100 * loads / loads.sum()
        table = pa.table({"place": np.arange(1, len(loads) + 1), "share_percent": shares})
        return Measurement(super().measured(report).figures, table)


class MachinesAtWork(Experiment):
    id = "dkg-section-4"
    title = "Ten and a hundred machines at a skewness of 80 %"
    summary = (
        "A country stream of which one key has 80 %, 5 spouts, 10 splitters. A worker counts as at "
        "work if it has at least a tenth of the load of the most loaded worker, otherwise as idle: "
        "it waits for more than nine tenths of the time that the most loaded worker takes."
    )

    table = "Machines at work"
    columns = (
        Column("workers", "Workers", "d"),
        Column("method", "Method"),
        Column("top_percent", "Load of the most loaded, %", ".2f"),
        Column("at_work", "Workers at work", "d"),
        Column("idle", "Idle workers", "d"),
        Column("throughput_percent", "Throughput bound, % of balanced loads", ".2f"),
    )
    note = "The throughput bound is the mean load in percent of the maximum load."
    charts = (
        Chart(
            "Load of each worker",
            Axis("place", "Worker, the most loaded first", "log"),
            Axis("share_percent", "Load, % of the messages", "log"),
            "method",
            panels=Grid("panel"),
        ),
    )

    def scenarios(self, scale: Scale) -> list[WorkerLoads]:
        stream = dataset("country-skew-r80", scale)
        return [
            WorkerLoads(
                stream, method, workers, SPLITTERS, SPOUTS, hash="murmur3", replication=False
            )
            for workers in _WORKERS
            for method in METHODS
        ]

    def labelled(self, frame: Frame) -> Frame:
        shares = [[each["share_percent"] for each in points] for points in frame["series"]]
        at_work = [sum(each >= _AT_WORK * max(of) for each in of) for of in shares]
        return named(frame).assign(
            top_percent=[max(each) for each in shares],
            at_work=at_work,
            idle=frame["workers"] - at_work,
            panel=[f"{workers} workers" for workers in frame["workers"]],
        )

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(series(frame)) for chart in self.charts]
