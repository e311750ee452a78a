"""DKG, section 4.4: keys of PKG whose two candidates are one worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.hashing import mix, murmur3_strings
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Measurement,
    Scale,
    Scenario,
    Simulation,
    medians,
)
from evenkey.papers.experiments.dkg.methods import SPLITTERS, SPOUTS, dataset
from evenkey.papers.experiments.hot_key_stream import HotKeyStream
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table
from evenkey.simulation import simulate

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.papers.experiments.scenario import OnMessages

_METHODS = {
    "pkg": "PKG, distinct candidates",
    "pkg(variant=paper)": "PKG, two hashes",
    "dkg": "DKG",
}
_MESSAGES = 10_000
_SHARE = 0.8
_TWICE = 2


@dataclass(frozen=True)
class EachKeyHot(Scenario):
    """Makes each key of a stream the hot one in turn, and simulates a grouping.

    Parameters
    ----------
    grouping, workers
        As for `evenkey.simulation.simulate`. One source routes, with the hash of the paper.
    seeds
        Number of streams for each hot key. The result has the figures of each, and their medians,
        minima and maxima.
    """

    kind: ClassVar[str] = "each-key-hot"

    grouping: str
    workers: int = 10
    seeds: int = field(default=3, kw_only=True)

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Simulate; figures are means over the hot keys."""
        keys = generated(self.dataset.name).key_count
        single = np.array([self._on_one_worker(key) for key in range(keys)])
        hashed = murmur3_strings(generated(self.dataset.name).texts(np.arange(keys)))
        equal = hashed == mix(hashed, 1)
        runs = []
        for seed in range(self.dataset.seed, self.dataset.seed + self.seeds):
            bounds = np.array([self._bound(key, seed) for key in range(keys)])
            of = {"bound": bounds, "bound_one": bounds[single], "bound_two": bounds[~single]}
            runs.append({name: float(each.mean()) for name, each in of.items() if len(each)})
            if on_messages is not None:
                on_messages(len(runs) * keys * (self.dataset.messages or 0))
        messages = self.seeds * keys * (self.dataset.messages or 0)
        return Measurement(
            {
                "messages": messages,
                "equal_percent": 100 * float(equal.mean()),
                "single_percent": 100 * float(single.mean()),
                **medians(runs, fresh=True),
            }
        )

    def _on_one_worker(self, key: int) -> bool:
        """Return whether two messages of a key alone go to one worker."""
        hashed = murmur3_strings(generated(self.dataset.name).texts(np.array([key])))
        router = parse(self.grouping).router(self.workers)
        return len({*router.route(np.repeat(hashed, _TWICE), np.zeros(_TWICE)).tolist()}) == 1

    def _bound(self, key: int, seed: int) -> float:
        """Return the bound on throughput, in percent of that with balanced loads."""
        cold = generated(self.dataset.name, messages=self.dataset.messages, seed=seed)
        stream = HotKeyStream(cold, key, _hot)
        report = simulate(
            stream,
            self.grouping,
            workers=self.workers,
            sources=1,
            hash="murmur3",
            replication=False,
            samples=1,
        )
        return 100 / report.metrics.max_over_mean


def _hot(times: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.full(len(times), _SHARE)


class CandidatesOfPkg(Experiment):
    id = "dkg-section-4-4"
    title = "Keys whose two candidates are one worker"
    summary = (
        "The 204 names of countries, 10 workers. “Two hashes” are PKG as in the papers, where both "
        "hashes of a key can choose the same worker; “distinct candidates” are PKG as in Storm 2. "
        "Without skew each key occurs often, so a key that has two candidates uses both. In the "
        "second table each of the names in turn has 80 % of the messages of a short stream, with "
        "one source."
    )
    charts = (
        Chart(
            "Throughput bound by the candidates of the hot key",
            Axis("method", "", "category"),
            Axis("part", "Throughput bound, %"),
            kind="bars",
            legend="Hot keys",
            beside={"all": "bound", "one candidate": "bound_one", "two candidates": "bound_two"},
        ),
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        unskewed = dataset("country-skew-r0", scale)
        hot = Dataset("country-skew-r0", _MESSAGES)
        return [
            *(
                Simulation(unskewed, method, 10, SPLITTERS, SPOUTS, hash="murmur3")
                for method in _METHODS
            ),
            *(EachKeyHot(hot, method) for method in _METHODS if method != "dkg"),
        ]

    def labelled(self, frame: Frame) -> Frame:
        return frame.assign(method=frame["grouping"].map(_METHODS))

    def tables(self, frame: Frame) -> list[Table]:
        method = Column("method", "Method")
        without_skew = [
            Column("dist_cost", "DistCost, workers a key", ".3f"),
            Column("keys", "Keys", "d"),
            Column("pairs", "Pairs of key and worker", "d"),
        ]
        hot = [
            Column("equal_percent", "Hot keys whose two hashes are equal, %", ".1f"),
            Column("single_percent", "Hot keys with one candidate, %", ".1f"),
            Column("bound", "Throughput bound, %, mean of all hot keys", ".2f"),
            Column("bound_one", "of those with one candidate", ".2f"),
            Column("bound_two", "of those with two", ".2f"),
        ]
        simulated, each = (frame[frame["kind"] == kind] for kind in ("simulation", "each-key-hot"))
        return [
            Table("Without skew", [method, *without_skew], simulated),
            Table("Each name as the hot key, with 80 % of the messages", [method, *hot], each),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(frame[frame["kind"] == "each-key-hot"]) for chart in self.charts]
