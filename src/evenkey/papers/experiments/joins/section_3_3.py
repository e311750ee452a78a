"""Joins, section 3.3: the greedy algorithm on the paper's examples, and on small cases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa

from evenkey.core.streams import generated
from evenkey.joins import DynamicDistributor
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Measurement,
    Scale,
    Scenario,
    medians,
    of_kinds,
)
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.papers.experiments.scenario import OnMessages

_PARTITIONS, _WORKERS, _CASES = 9, 3, 100
_NAMES = ("left, upper", "left, lower", "middle", "right, upper", "right, lower")
_FIGURE_2 = "40 20 20 10 10"
_ITEMS = " ".join(["10"] * 10 + ["1"] * 10)
_ROUNDING = 1e-9
_PLANNERS = {
    "greedy": "greedy",
    "fewest": "all plans: fewest migrations to the same balance",
    "best": "all plans: best balance",
}


@dataclass(frozen=True)
class PlannedExample(Scenario):
    """Plans partitions whose loads and locations are given.

    Parameters
    ----------
    loads
        Load of each partition, separated by spaces.
    owners
        Location of each partition, from 0, separated by spaces.
    """

    kind: ClassVar[str] = "planned-example"

    loads: str
    owners: str

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Plan; the series has load and location of each partition, locations from 1."""
        del on_messages
        loads = np.array(self.loads.split(), dtype=np.float64)
        owners = np.array(self.owners.split(), dtype=np.int32)
        planned = DynamicDistributor().planner(owners, loads, int(owners.max()) + 1)
        moved = int(np.count_nonzero(planned != owners))
        series = pa.table({"load": loads, "before": owners + 1, "after": planned + 1})
        return Measurement({"messages": len(loads), "moved": moved}, series)


@dataclass(frozen=True)
class PlannedCases(Scenario):
    """Plans small cases, and compares the plans with all plans that are possible.

    The load of a partition is how often its key occurs in a stream. Neighbouring partitions are on
    one location, so that the first has the most frequent keys.

    Parameters
    ----------
    partitions, workers
        Number of partitions, and of locations.
    cases
        Number of streams.
    seeds
        Number of such sets of streams. The result has their means, and the medians, minima and
        maxima of these.
    """

    kind: ClassVar[str] = "planned-cases"

    partitions: int = _PARTITIONS
    workers: int = _WORKERS
    cases: int = _CASES
    seeds: int = field(default=3, kw_only=True)

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Plan all cases; figures are means over the cases."""
        plans = np.indices([self.workers] * self.partitions).reshape(self.partitions, -1).T
        owners = np.arange(self.partitions) * self.workers // self.partitions
        moves = (plans != owners).sum(axis=1)
        runs, done = [], 0
        for number in range(self.seeds):
            first = self.dataset.seed + number * self.cases
            cases = [
                self._case(plans, moves, owners, seed) for seed in range(first, first + self.cases)
            ]
            runs.append({name: float(np.mean([each[name] for each in cases])) for name in cases[0]})
            done += self.cases * (self.dataset.messages or 0)
            if on_messages is not None:
                on_messages(done)
        return Measurement({"messages": done, **medians(runs, fresh=True)})

    def _case(
        self,
        plans: NDArray[np.int64],
        moves: NDArray[np.int64],
        owners: NDArray[np.int64],
        seed: int,
    ) -> dict[str, float]:
        stream = generated(self.dataset.name, messages=self.dataset.messages, seed=seed)
        ids = stream.ids(0, stream.length)
        loads = np.bincount(ids, minlength=self.partitions).astype(np.float64)
        most = np.max([(plans == each) @ loads for each in range(self.workers)], axis=0)
        most /= loads.sum() / self.workers
        planned = DynamicDistributor().planner(owners.astype(np.int32), loads, self.workers)
        mine = int(np.flatnonzero((plans == planned).all(axis=1))[0])
        same, best = most <= most[mine] + _ROUNDING, most <= most.min() + _ROUNDING
        return {
            "moves_greedy": float(moves[mine]),
            "moves_fewest": float(moves[same].min()),
            "moves_best": float(moves[best].min()),
            "load_greedy": float(most[mine]),
            "load_fewest": float(most[same][moves[same].argmin()]),
            "load_best": float(most.min()),
        }


class GreedyPlans(Experiment):
    id = "joins-section-3-3"
    title = "The greedy algorithm"
    summary = (
        "No join runs: the planner of the Dynamic Distributor gets loads and locations, and "
        "returns locations. It is given the example of figure 2; the example of section 4.6 with "
        "ten items that take ten times the time of ten others, each in a partition of its own; and "
        f"{_CASES} cases of {_PARTITIONS} partitions on {_WORKERS} workers with the frequencies of "
        "a Zipf stream (z = 0.5) as loads, beside the best of all "
        f"{_WORKERS**_PARTITIONS:,} plans. Means over the cases; medians of three sets of cases, "
        "in brackets all three."
    )
    charts = (
        Chart(
            "Migrations and balance of small cases",
            Axis("load", "Maximum load, over the mean"),
            Axis("moves", "Migrations"),
            "planner",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        del scale
        keys = Dataset(f"zipf(z=0.5,keys={_PARTITIONS})", 1000)
        return [
            PlannedExample(Dataset("uniform(keys=5)", 5), _FIGURE_2, "0 0 1 2 2"),
            PlannedExample(
                Dataset("uniform(keys=20)", 20), _ITEMS, " ".join(["0"] * 10 + ["1"] * 10)
            ),
            PlannedCases(keys),
        ]

    def labelled(self, frame: Frame) -> Frame:
        named = {
            (_FIGURE_2, "planned-example"): "figure 2",
            (_ITEMS, "planned-example"): "ten and ten items",
        }
        pairs = zip(frame["loads"], frame["kind"], strict=True)
        return frame.assign(case=[named.get(pair, "small cases") for pair in pairs])

    def tables(self, frame: Frame) -> list[Table]:
        of = {row["case"]: row for row in frame.to_dict("records")}
        steps = [Column("before", "first step", "g"), Column("after", "third step", "g")]
        place = Column("worker", "Worker")
        placed = pd.DataFrame(of["figure 2"]["series"]).assign(partition=_NAMES)
        items = pd.DataFrame(of["ten and ten items"]["series"])
        return [
            Table(
                "Figure 2: the worker of each partition, counted from the left",
                [Column("partition", "Partition"), Column("load", "Load, %", "g"), *steps],
                placed,
            ),
            Table(
                "Figure 2: the load of each worker",
                [place, *steps],
                _loads(placed, ("left", "middle", "right")),
            ),
            Table(
                "Ten complex and ten simple items",
                [
                    place,
                    Column("complex", "Complex items", "d"),
                    Column("simple", "Simple items", "d"),
                    Column("after", "Load", "g"),
                ],
                _loads(items, ("1", "2")).assign(
                    complex=[_count(items, 10, worker) for worker in (1, 2)],
                    simple=[_count(items, 1, worker) for worker in (1, 2)],
                ),
            ),
            Table(
                "Small cases",
                [
                    Column("planner", "Planner"),
                    Column("moves", "Migrations", ".2f"),
                    Column("load", "Maximum load, over the mean", ".3f"),
                ],
                _planners(frame),
            ),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(_planners(frame)) for chart in self.charts]


def _loads(frame: Frame, names: tuple[str, ...]) -> Frame:
    """Add up the loads of each worker, before and after."""
    workers = range(1, len(names) + 1)
    sums = {
        step: [float(frame.loc[frame[step] == each, "load"].sum()) for each in workers]
        for step in ("before", "after")
    }
    return pd.DataFrame({"worker": names, **sums})


def _count(frame: Frame, load: float, worker: int) -> int:
    return int(((frame["load"] == load) & (frame["after"] == worker)).sum())


def _planners(frame: Frame) -> Frame:
    """Return one row per planner, with the range of its figures."""
    cases = frame[frame["case"] == "small cases"]
    return of_kinds(cases, "planner", _PLANNERS, {"moves": "moves_{}", "load": "load_{}"})
