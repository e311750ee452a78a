"""DKG, section 4.2: which keys get more than two workers, and what the key space keeps."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.hashing import murmur3_strings
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.papers.experiments import (
    Dataset,
    Experiment,
    Frame,
    Measurement,
    Scale,
    Scenario,
    medians,
)
from evenkey.reports.pictures import Column

if TYPE_CHECKING:
    from evenkey.papers.experiments.scenario import OnMessages

_MESSAGES, _RATE = 100_000, 250.0
_LOOK, _INITIAL = 5, 2
_OLD = 2
"""The old space in the entries of DKG's router."""


@dataclass(frozen=True)
class PoolsBySpace(Scenario):
    """Looks at the pools of all keys every 5 s; one source routes by DKG.

    Parameters
    ----------
    workers
        Number of workers.
    seeds
        Number of streams. The result has the medians, minima and maxima.
    """

    kind: ClassVar[str] = "pools-by-space"

    workers: int = 10
    seeds: int = field(default=3, kw_only=True)

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Route the streams."""
        seeds = range(self.dataset.seed, self.dataset.seed + self.seeds)
        runs = [self._once(seed) for seed in seeds]
        messages = self.seeds * (self.dataset.messages or 0)
        if on_messages is not None:
            on_messages(messages)
        return Measurement({"messages": messages, **medians(runs)})

    def _once(self, seed: int) -> dict[str, float]:
        """Return the largest pools of keys that were old and of others, and counts of entries."""
        stream = generated(
            self.dataset.name, messages=self.dataset.messages, seed=seed, rate=self.dataset.rate
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
        return {
            "pool_of_old": float(largest[True]),
            "pool_of_others": float(largest[False]),
            "entries": float(np.mean(entries)),
            "grown": float(np.mean(grown)),
        }


class KeysWithMoreWorkers(Experiment):
    id = "dkg-section-4-2"
    title = "Keys with more than two workers, and entries of the key space"
    summary = (
        "Country streams of 400 s with 250 messages a second, 10 workers, one source routes by "
        "DKG; the pools are looked at every 5 s. Medians of three streams, in brackets minimum "
        "and maximum."
    )
    table = "Pools and entries"
    columns = (
        Column("skewness", "Skewness ratio, %", "d"),
        Column("pool_of_old", "Largest pool, keys that were old", ".0f"),
        Column("pool_of_others", "Largest pool, other keys", ".0f"),
        Column("entries", "Entries, mean", ".1f"),
        Column("grown", "Entries with more than two workers, mean", ".1f"),
        Column("over_grown", "Entries over those", ".1f"),
    )
    note = "Keys that were old: in the old space at one of the looks so far."

    def scenarios(self, scale: Scale) -> list[Scenario]:
        del scale
        return [
            PoolsBySpace(Dataset(f"country-skew-r{skewness}", _MESSAGES, _RATE))
            for skewness in (30, 80)
        ]

    def labelled(self, frame: Frame) -> Frame:
        skewness = frame["dataset"].str.extract(r"-r(\d+)", expand=False).astype(int)
        return frame.assign(skewness=skewness, over_grown=frame["entries"] / frame["grown"])
