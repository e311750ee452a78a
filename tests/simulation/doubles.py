"""Groupings that are told things, and route by nothing else."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenkey.groupings import Grouping, Router


class ToldRouter(Router):
    """Routes to the worker that it was told; counts its messages, and remembers all it is told."""

    def __init__(self, workers, source):
        super().__init__(workers, source)
        self.told = np.zeros(0)
        self.routed = 0

    def _route(self, keys, times, weights, workers):
        del times, weights
        self.routed += len(keys)
        workers[:] = int(self.told.sum()) % self.workers

    def snapshot(self):
        return {"told": self.told, "routed": np.array([self.routed])}

    def restore(self, snapshot):
        self.told, self.routed = snapshot["told"], int(snapshot["routed"][0])

    def memory(self):
        return {"routed": np.array([self.routed])}

    def remember(self, memory):
        self.told = memory["told"]


@dataclass(frozen=True)
class ByEpoch(Grouping):
    """All messages of an epoch to the worker that has the number of the messages so far."""

    name: ClassVar[str] = "by-epoch"
    plans_epochs: ClassVar[bool] = True

    def _router(self, workers, source):
        return ToldRouter(workers, source)

    def merge_memories(self, memories):
        return {"told": np.concatenate([memory["routed"] for memory in memories])}


@dataclass(frozen=True)
class ByCountedEpoch(ByEpoch):
    """As `ByEpoch`, but the first and all epochs after an even number are counted first."""

    name: ClassVar[str] = "by-counted-epoch"

    def counts_first(self, memory):
        return not memory or memory["told"].sum() % 2 == 0

    def plan(self, keys, counts, workers):
        del workers
        assert len(set(keys.tolist())) == len(keys)
        return {"told": 10 + counts}


@dataclass(frozen=True)
class ByFrequencies(Grouping):
    """All messages to the worker that has the number of messages."""

    name: ClassVar[str] = "by-frequencies"
    given_frequencies: ClassVar[bool] = True

    def _router(self, workers, source):
        return ToldRouter(workers, source)

    def plan(self, keys, counts, workers):
        del workers
        assert len(set(keys.tolist())) == len(keys)
        return {"told": counts}
