"""Which workers are overloaded, and how many are needed."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.hashing import hash_strings, mix
from evenkey.core.streams import generated
from evenkey.groupings import parse
from evenkey.papers.experiments import Measurement, Scenario, medians
from evenkey.papers.experiments.pkg.sections.balls_in_bins import Placement, candidates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evenkey.papers.experiments.scenario import OnMessages


@dataclass(frozen=True)
class MostLoaded(Placement):
    """As `Placement`; it counts whether the most loaded worker is one of the hottest key's."""

    kind: ClassVar[str] = "most-loaded"
    names: ClassVar[tuple[str, ...]] = ("imbalance", "of_hottest")

    def drawn(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the number of each message's key, and the hash of each key that occurs."""
        stream = self.stream(seed)
        keys, ids = np.unique(stream.ids(0, stream.length), return_inverse=True)
        return ids, hash_strings([f"{seed} {key}" for key in keys])

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the imbalance at the end, and 1 if the worker is the hottest key's, else 0."""
        ids, keys = self.drawn(seed)
        loads = np.bincount(self.placed(ids, keys, seed), minlength=self.workers)
        top = int(np.bincount(ids).argmax())
        two = candidates(keys[top : top + 1], self.workers)
        return {
            "imbalance": float(loads.max() - loads.mean()),
            "of_hottest": float(int(loads.argmax()) in two),
        }


@dataclass(frozen=True)
class FewestWorkers(Scenario):
    """Looks for the fewest workers that keep up with a rate, with several hashes of the keys.

    One router sees all messages. Workers keep up if none has more messages than it can process in
    the time of the stream.

    Parameters
    ----------
    grouping
        As for `evenkey.simulation.simulate`.
    per_second
        Messages per second.
    capacity
        Messages that a worker processes per second.
    draws
        Number of hashes. The result has the median, the minimum and the maximum.
    """

    kind: ClassVar[str] = "fewest-workers"

    grouping: str
    per_second: float
    capacity: float
    draws: int = field(default=5, kw_only=True)

    def measure(self, on_messages: OnMessages | None = None) -> Measurement:
        """Try numbers of workers, from the fewest that could keep up with balanced loads."""
        stream = generated(
            self.dataset.name, messages=self.dataset.messages, seed=self.dataset.seed
        )
        batch = stream.batch(0, stream.length)
        runs = []
        for draw in range(self.draws):
            keys = mix(batch.keys, 1 + draw)
            most = stream.length * self.capacity / self.per_second
            workers = math.ceil(self.per_second / self.capacity)
            while self._largest(keys, batch.times, workers) > most:
                workers += 1
            runs.append({"needed": float(workers)})
            if on_messages is not None:
                on_messages((draw + 1) * stream.length)
        return Measurement({"messages": self.draws * stream.length, **medians(runs)})

    def _largest(self, keys: NDArray[np.uint64], times: NDArray[np.float64], workers: int) -> int:
        router = parse(self.grouping).router(workers)
        return int(np.bincount(router.route(keys, times)).max())
