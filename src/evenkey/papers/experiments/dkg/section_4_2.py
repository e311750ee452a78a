"""DKG, section 4.2: which keys get more than two workers, and what the key space keeps."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenkey.core.hashing import murmur3_strings
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Scale,
    Scenario,
    SeveralStreams,
    Simulation,
)
from evenkey.papers.experiments.dkg.methods import NO_KEY_SPACE, SPLITTERS, SPOUTS, dataset
from evenkey.papers.experiments.dkg.section_4 import WorkerLoads
from evenkey.reports.pictures import Column, Table

_MESSAGES, _RATE = 100_000, 250.0
_PART = 1_000_000
_RULES = {"dkg": "DKG", NO_KEY_SPACE: "no key space"}
_LOOK, _INITIAL = 5, 2
_SKEWS = tuple(range(10, 101, 10))
_MORE_WORKERS = (50, 100)
_SKEWS_OF_MORE = (40, 70, 90)
_OLD = 2
"""The old space in the entries of DKG's router."""


@dataclass(frozen=True)
class PoolsBySpace(SeveralStreams):
    """Reads the pools of all keys every 5 s; one source routes by DKG.

    Parameters
    ----------
    workers
        Number of workers.
    """

    kind: ClassVar[str] = "pools-by-space"

    workers: int = 10

    def once(self) -> tuple[dict[str, float], None]:
        """Return the largest pools of keys that were old and of others, and counts of entries."""
        stream = generated(
            self.dataset.name,
            messages=self.dataset.messages,
            seed=self.dataset.seed,
            rate=self.dataset.rate,
        )
        hashes = murmur3_strings(stream.texts(np.arange(stream.key_count)))
        router = parse("dkg").router(self.workers)
        old: set[int] = set()
        largest = {True: _INITIAL, False: _INITIAL}
        entries, grown = [], []
        for batch in stream.batches(round(_LOOK * stream.per_second)):
            router.route(hashes[batch.ids], batch.times)
            items = router.snapshot()["items"]
            old |= {*items["key"][items["space"] == _OLD].tolist()}
            for key, pool in zip(items["key"].tolist(), items["pool"].tolist(), strict=True):
                largest[key in old] = max(largest[key in old], pool)
            entries.append(len(items))
            grown.append(np.count_nonzero(items["pool"] > _INITIAL))
        figures = {
            "pool_of_old": float(largest[True]),
            "pool_of_others": float(largest[False]),
            "entries": float(np.mean(entries)),
            "grown": float(np.mean(grown)),
        }
        return figures, None


@dataclass(frozen=True)
class WorkersOfKeys(SeveralStreams):
    """Counts the workers that the hot key and the other keys had; one source routes by DKG.

    Parameters
    ----------
    workers
        Number of workers.
    """

    kind: ClassVar[str] = "workers-of-keys"

    workers: int = 10

    def once(self) -> tuple[dict[str, float], None]:
        """Return the workers of the most frequent key, and those of the others."""
        stream = generated(
            self.dataset.name,
            messages=self.dataset.messages,
            seed=self.dataset.seed,
            rate=self.dataset.rate,
        )
        hashes = murmur3_strings(stream.texts(np.arange(stream.key_count)))
        router = parse("dkg").router(self.workers)
        counts = np.zeros((stream.key_count, self.workers), dtype=np.int64)
        for batch in stream.batches(round(_LOOK * stream.per_second)):
            workers = router.route(hashes[batch.ids], batch.times)
            np.add.at(counts, (batch.ids, workers), 1)
        hot = int(counts.sum(axis=1).argmax())
        held = np.count_nonzero(counts, axis=1)
        others = np.delete(held, hot)
        others = others[others > 0]
        figures = {
            "of_hot": float(held[hot]),
            "of_others": float(others.mean()) if len(others) else 0.0,
            "others_grown": float(np.count_nonzero(others > _INITIAL)),
            "dist_cost": float(held[held > 0].mean()),
        }
        return figures, None


class KeysWithMoreWorkers(Experiment):
    id = "dkg-section-4-2"
    title = "Keys with more than two workers, and entries of the key space"
    summary = (
        "Pools: country streams of 400 s with 250 messages a second, 10 workers, one source routes "
        "by DKG; the pools are read every 5 s, and a key counts as old if it was in the old "
        "space at one of the readings so far. Medians of three streams, in brackets all three. "
        "Workers of the hot key: country streams of a million messages that span the "
        "time of the whole, 2,350 s, one source, medians of three streams; a worker counts if it "
        "got a message of the key. The other tables: the first million messages of country "
        "streams, 10 workers, 5 spouts, 10 splitters; “no key space” as in DKG, section 4.3."
    )

    def scenarios(self, scale: Scale) -> list[Scenario]:
        return [
            *(
                PoolsBySpace(Dataset(f"country-skew-r{skewness}", _MESSAGES, _RATE))
                for skewness in (30, 80)
            ),
            *(
                Simulation(_part(skewness, scale), rules, 10, SPLITTERS, SPOUTS, hash="murmur3")
                for skewness in (0, 10)
                for rules in _RULES
            ),
            WorkerLoads(
                _part(80, scale), "pkg", 10, SPLITTERS, SPOUTS, hash="murmur3", replication=False
            ),
            *(WorkersOfKeys(_thinned(skewness, scale)) for skewness in _SKEWS),
            *(
                WorkersOfKeys(_thinned(skewness, scale), workers)
                for skewness in _SKEWS_OF_MORE
                for workers in _MORE_WORKERS
            ),
        ]

    def labelled(self, frame: Frame) -> Frame:
        skewness = frame["dataset"].str.extract(r"-r(\d+)", expand=False).astype(int)
        loads = frame["kind"] == WorkerLoads.kind
        shares = [
            [each["share_percent"] for each in points] if has else [1.0, 1.0]
            for points, has in zip(frame["series"], loads, strict=True)
        ]
        return frame.assign(
            skewness=skewness,
            over_grown=frame["entries"] / frame["grown"],
            rules=frame["grouping"].map(_RULES),
            second=[each[1] / each[0] for each in shares],
            others=[sum(each[2:]) for each in shares],
        )

    def tables(self, frame: Frame) -> list[Table]:
        skewness = Column("skewness", "Skewness ratio, %", "d")
        kinds = (PoolsBySpace, Simulation, WorkerLoads, WorkersOfKeys)
        of = {kind: frame[frame["kind"] == kind.kind] for kind in kinds}
        return [
            Table(
                "Pools and entries",
                [
                    skewness,
                    Column("pool_of_old", "Largest pool, keys that were old", ".0f"),
                    Column("pool_of_others", "Largest pool, other keys", ".0f"),
                    Column("entries", "Entries, mean", ".1f"),
                    Column("grown", "Entries with more than two workers, mean", ".1f"),
                    Column("over_grown", "Entries over those", ".1f"),
                ],
                of[PoolsBySpace],
                "Keys that were old: in the old space at one of the readings so far.",
            ),
            Table(
                "Without skew, and with little",
                [
                    skewness,
                    Column("rules", "Rules"),
                    Column("dist_cost", "DistCost, workers a key", ".3f"),
                ],
                of[Simulation],
            ),
            Table(
                "Loads of PKG's workers",
                [
                    skewness,
                    Column("second", "Second load over the largest", ".3f"),
                    Column("others", "Load of the eight others, %", ".2f"),
                ],
                of[WorkerLoads],
            ),
            Table(
                "Workers of the hot key and of the others",
                [
                    skewness,
                    Column("workers", "Workers", "d"),
                    Column("of_hot", "Workers of the hot key", ".0f"),
                    Column("of_others", "Workers of another key, mean", ".3f"),
                    Column("others_grown", "Other keys with more than two", ".0f"),
                    Column("dist_cost", "DistCost, workers a key", ".3f"),
                ],
                of[WorkersOfKeys],
                "All workers that got a message of the key in the stream count.",
            ),
        ]


def _part(skewness: int, scale: Scale) -> Dataset:
    """Return the beginning of a country stream, at its rate."""
    whole = dataset(f"country-skew-r{skewness}", scale)
    return Dataset(whole.name, min(whole.messages or 0, _PART), whole.rate)


def _thinned(skewness: int, scale: Scale) -> Dataset:
    """Return a country stream with fewer messages, which spans the time of the whole."""
    whole = dataset(f"country-skew-r{skewness}", scale)
    published = whole.messages or 0
    messages = min(published, _PART)
    return Dataset(whole.name, messages, messages / published * (whole.rate or 0.0))
