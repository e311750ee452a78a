"""PKG, section 6.1: imbalance under other draws of the hash and of the stream."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, cast

import numpy as np

from evenkey.core.hashing import mix
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Measurement,
    Scale,
    Scenario,
    SeveralStreams,
    medians,
)
from evenkey.papers.experiments.pkg.techniques import pkg
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

if TYPE_CHECKING:
    from evenkey.papers.experiments.scenario import OnMessages

_BALANCED = 0.001
"""Imbalance that separates balanced from unbalanced streams in the paper's table 2."""

_CHOICES = {d: f"pkg(choices={d},variant=paper)" for d in (2, 3, 4)}
_NAMES = {
    "kg": "Hashing",
    "on-greedy": "On-Greedy",
    "potc": "PoTC",
    "pkg": "PKG, distinct candidates",
    **{grouping: f"PKG, {d} choices" for d, grouping in _CHOICES.items()},
}
_DATA = {
    "wikipedia-like": "WP",
    "twitter-like": "TW",
    "lognormal-2": "LN2",
    "zipf(z=1.2,keys=1000000)": "ZF, z = 1.2",
}
_SETTINGS = {
    "wikipedia-like": (2_000_000, ("kg",), (5, 10, 50, 100)),
    "twitter-like": (2_000_000, ("kg",), (5, 10, 50, 100)),
    "lognormal-2": (500_000, ("pkg", _CHOICES[2]), (5, 10)),
    "zipf(z=1.2,keys=1000000)": (500_000, tuple(_CHOICES.values()), (5,)),
}
_WHOLE_KEYS = ("on-greedy", "potc")
"""Methods that keep a key on one worker, but choose it by load, so that the order counts, too."""
_STREAMS = {"wikipedia-like": (2_000_000, (5, 10)), "twitter-like": (50_000_000, (5, 10, 50))}


@dataclass(frozen=True)
class HashDraws(Scenario):
    """Routes a stream by one router, with several hashes of the keys.

    Parameters
    ----------
    grouping, workers
        As for `evenkey.simulation.simulate`.
    draws
        Number of hashes.
    """

    kind: ClassVar[str] = "hash-draws"

    grouping: str
    workers: int
    draws: int = field(default=20, kw_only=True)

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Measure the imbalance at the end of the stream, as a fraction of its messages."""
        stream = generated(
            self.dataset.name, messages=self.dataset.messages, seed=self.dataset.seed
        )
        routers = [parse(self.grouping).router(self.workers) for _ in range(self.draws)]
        loads = np.zeros((self.draws, self.workers), dtype=np.int64)
        done = 0
        for batch in stream.batches():
            for draw, router in enumerate(routers):
                workers = router.route(mix(batch.keys, 1 + draw), batch.times)
                loads[draw] += np.bincount(workers, minlength=self.workers)
            done += self.draws * len(batch.ids)
            if on_messages is not None:
                on_messages(done)
        found = (loads.max(axis=1) - loads.mean(axis=1)) / stream.length
        runs = [{"imbalance": float(each)} for each in found]
        unbalanced = int(np.count_nonzero(found > _BALANCED))
        return Measurement({"messages": done, "unbalanced": unbalanced, **medians(runs)})


@dataclass(frozen=True)
class OtherStreams(SeveralStreams):
    """Simulates a grouping on several streams, with one source that sees all messages.

    Parameters
    ----------
    grouping, workers
        As for `evenkey.simulation.simulate`, with the hash of table 2.
    """

    kind: ClassVar[str] = "other-streams"

    grouping: str
    workers: int
    seeds: int = field(default=8, kw_only=True)

    def once(self) -> tuple[dict[str, float], None]:
        """Simulate one stream; return the imbalance at its end, as a fraction of its messages."""
        table_2 = pkg(self.dataset, self.workers, estimation="global", grouping=self.grouping)
        return {"imbalance": cast("float", table_2.measure().figures["imbalance_fraction"])}, None


class OtherDraws(Experiment):
    id = "pkg-section-6-1"
    title = "Imbalance under other draws of the hash and of the stream"
    summary = (
        "Which keys meet on a worker depends on the hash, and the paper's is one draw. Here each "
        "stream is routed with 20 hashes by a router that sees all messages. A draw counts as "
        "unbalanced if the imbalance at its end is above 0.001 of the messages. On-Greedy and PoTC "
        "choose the worker of a new key by the loads so far, so that the order of the messages "
        "decides as well: they route eight streams, with the hash of table 2. Figures are medians, "
        "with the minimum and maximum of the draws, or the figure of each stream, in brackets. In "
        "the first table WP and TW have 2 M messages, the others 500,000."
    )
    charts = (
        Chart(
            "Unbalanced draws of 20",
            Axis("setting", "", "category"),
            Axis("unbalanced", "Unbalanced draws of 20"),
            "method",
            kind="bars",
        ),
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        return [
            *(
                HashDraws(Dataset(name, scale.messages(messages)), grouping, workers)
                for name, (messages, groupings, numbers) in _SETTINGS.items()
                for grouping in groupings
                for workers in numbers
            ),
            *(
                OtherStreams(Dataset(name, scale.messages(messages)), grouping, workers)
                for name, (messages, numbers) in _STREAMS.items()
                for grouping in _WHOLE_KEYS
                for workers in numbers
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        data, workers = frame["dataset"].map(_DATA), frame["workers"].astype(str)
        return frame.assign(
            data=data,
            method=frame["grouping"].map(_NAMES),
            setting=data + ", W = " + workers,
            length=frame["messages"] / frame["seeds"],
        )

    def tables(self, frame: Frame) -> list[Table]:
        setting = [
            Column("data", "Data set"),
            Column("method", "Method"),
            Column("workers", "Workers", "d"),
        ]
        imbalance = Column("imbalance", "Imbalance at the end", ".1e")
        hashes = [
            Column("draws", "Draws", "d"),
            Column("unbalanced", "Unbalanced draws", "d"),
        ]
        streams = [Column("seeds", "Streams", "d"), Column("length", "Messages of each", ",d")]
        return [
            Table("Imbalance of 20 draws", [*setting, *hashes, imbalance], _of(HashDraws, frame)),
            Table(
                "Imbalance of eight streams",
                [*setting, *streams, imbalance],
                _of(OtherStreams, frame),
            ),
        ]

    def plots(self, frame: Frame) -> list[Plot]:
        return [chart.plot(_of(HashDraws, frame)) for chart in self.charts]


def _of(kind: type[Scenario], frame: Frame) -> Frame:
    return frame[frame["kind"] == kind.kind]
