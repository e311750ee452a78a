"""Groupings for tests, which route only by the memory that they are given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from evenkey.groupings import Grouping, Router


class MemoryRouter(Router):
    """Routes all messages to one worker, the sum in its memory; counts its messages."""

    def __init__(self, workers, source):
        super().__init__(workers, source)
        self.given = np.zeros(0)
        self.routed = 0

    def _route(self, keys, times, weights, workers):
        del times, weights
        self.routed += len(keys)
        workers[:] = int(self.given.sum()) % self.workers

    def snapshot(self):
        return {"given": self.given, "routed": np.array([self.routed])}

    def restore(self, snapshot):
        self.given, self.routed = snapshot["given"], int(snapshot["routed"][0])

    def memory(self):
        return {"routed": np.array([self.routed])}

    def remember(self, memory):
        self.given = memory["given"]


@dataclass(frozen=True)
class ByEpoch(Grouping):
    """Routes an epoch to worker n (mod W), where n is the number of messages before the epoch."""

    name: ClassVar[str] = "by-epoch"
    plans_epochs: ClassVar[bool] = True

    def _router(self, workers, source):
        return MemoryRouter(workers, source)

    def merge_memories(self, memories):
        return {"given": np.concatenate([memory["routed"] for memory in memories])}


@dataclass(frozen=True)
class ByCountedEpoch(ByEpoch):
    """Like `ByEpoch`, but an epoch is counted first if a multiple of two messages came before."""

    name: ClassVar[str] = "by-counted-epoch"

    def counts_first(self, memory):
        return not memory or memory["given"].sum() % 2 == 0

    def plan(self, keys, counts, workers):
        del workers
        assert len(set(keys.tolist())) == len(keys)
        return {"given": 10 + counts}


@dataclass(frozen=True)
class ByFrequencies(Grouping):
    """Routes all messages to worker n (mod W), where n is the number of messages."""

    name: ClassVar[str] = "by-frequencies"
    given_frequencies: ClassVar[bool] = True

    def _router(self, workers, source):
        return MemoryRouter(workers, source)

    def plan(self, keys, counts, workers):
        del workers
        assert len(set(keys.tolist())) == len(keys)
        return {"given": counts}
