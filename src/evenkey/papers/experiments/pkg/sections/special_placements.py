"""Placements of streams, or figures of placements, that single statements of section 5.1 need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.metrics import max_over_mean
from evenkey.papers.experiments.pkg.draws import Drawn, hashes
from evenkey.papers.experiments.pkg.sections.balls_in_bins import Placement, candidates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

RARER = 100
"""How much rarer than the first key all others are in the stream of `RareKeys`."""


@dataclass(frozen=True)
class DistinctKeys(Placement):
    """As `Placement`, with a stream in which no key occurs twice."""

    kind: ClassVar[str] = "distinct-keys"

    def drawn(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the number of each message, and the hash of its key."""
        count = self.dataset.messages or 0
        return np.arange(count), hashes(count, seed)


@dataclass(frozen=True)
class RareKeys(Placement):
    """As `Placement`, with a first key of probability ``1 / (5 * workers)``; others are rarer."""

    kind: ClassVar[str] = "rare-keys"

    def drawn(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the number of each message's key, and the hash of each key."""
        first = 1 / (5 * self.workers)
        others = RARER * (5 * self.workers - 1)
        random = np.random.default_rng(seed)
        ids = random.integers(1, others + 1, self.dataset.messages or 0)
        ids[random.random(len(ids)) < first] = 0
        return ids, hashes(others + 1, seed)


@dataclass(frozen=True)
class WithinBound(Placement):
    """As `Placement`, but the draws count whose imbalance is within a bound.

    Parameters
    ----------
    bound
        The bound, as a multiple of the mean load.
    """

    kind: ClassVar[str] = "within-bound"
    names: ClassVar[tuple[str, ...]] = ("within",)

    bound: float

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return 1 if the imbalance at the end is within the bound, else 0."""
        loads = self.loads(seed)
        return {"within": float(max_over_mean(loads) - 1 <= self.bound)}


@dataclass(frozen=True)
class FirstKey(Placement):
    """As `Placement`, but the two candidates of the most frequent key count."""

    kind: ClassVar[str] = "first-key"
    names: ClassVar[tuple[str, ...]] = ("imbalance", "together", "larger")

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the imbalance, and the share of the two workers, and of the larger of them."""
        ids, keys = self.drawn(seed)
        loads = np.bincount(self.placed(ids, keys, seed), minlength=self.workers)
        top = int(np.bincount(ids).argmax())
        two = np.unique(candidates(keys[top : top + 1], self.workers))
        shares = loads[two] / len(ids)
        imbalance = float(loads.max() - loads.mean())
        return {
            "imbalance": imbalance,
            "together": float(shares.sum()),
            "larger": float(shares.max()),
        }


@dataclass(frozen=True)
class CandidatesOfAll(Drawn):
    """Draws the two candidates of all keys of a stream; no message is placed.

    Parameters
    ----------
    workers
        Number of workers.
    """

    kind: ClassVar[str] = "candidates-of-all"
    names: ClassVar[tuple[str, ...]] = ("used", "some_unused", "all_differ")

    workers: int

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the share of workers that are a candidate, and whether it is below 1.

        The last figure is 1 if no worker is twice a candidate, else 0.
        """
        two = candidates(hashes(self.stream(seed).key_count, seed), self.workers)
        used = len(np.unique(two))
        return {
            "used": used / self.workers,
            "some_unused": float(used < self.workers),
            "all_differ": float(used == two.size),
        }
