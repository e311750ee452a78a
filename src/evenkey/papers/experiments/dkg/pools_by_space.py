"""Observe the pools of keys by the space of the key space in which they are."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.hashing import murmur3_strings
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.groupings.key_space import OLD
from evenkey.papers.experiments import Measurement, Scenario, medians

if TYPE_CHECKING:
    from evenkey.papers.experiments.scenario import OnMessages

_LOOK, _INITIAL = 5, 2


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
            old |= {*items["key"][items["space"] == OLD].tolist()}
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
