"""Sets of workers and the keys whose candidates lie in them, as in section 5.2 of the PKG paper."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.papers.experiments.pkg.draws import Drawn, hashes
from evenkey.papers.experiments.pkg.sections.balls_in_bins import Placement, candidates

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_PART = 5
"""Sets of workers are small if they have at most a fifth of them."""


@dataclass(frozen=True)
class SetOfWorkers(Drawn):
    """Keys of equal probability whose candidates all lie in one set of workers.

    Parameters
    ----------
    workers
        Number of workers.
    choices
        How many of the two candidates of a key count.
    size
        Number of workers of the set.
    limit
        Share of the keys from which on a trial counts.
    trials
        Number of trials, each with other hashes. Figures are means over them.
    """

    kind: ClassVar[str] = "set-of-workers"
    names: ClassVar[tuple[str, ...]] = ("inside", "reached")

    workers: int
    choices: int
    size: int
    limit: float
    trials: int

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the share of the keys inside, and that of the trials with `limit` or more."""
        two = _candidates_by_trial(self.stream(seed).key_count, self.workers, self.trials, seed)
        inside = (two[..., : self.choices] < self.size).all(axis=2).mean(axis=1)
        reached = inside >= self.limit - 1e-12
        return {"inside": float(inside.mean()), "reached": float(reached.mean())}


@dataclass(frozen=True)
class SmallSets(Drawn):
    """Keys of equal probability, and all sets of at most a fifth of the workers.

    Parameters
    ----------
    workers
        Number of workers; the number of sets grows fast with it.
    trials
        Number of trials, each with other hashes.
    """

    kind: ClassVar[str] = "small-sets"
    names: ClassVar[tuple[str, ...]] = ("largest", "within", "expansion")

    workers: int
    trials: int

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return figures of the set that is worst in each trial.

        They are the largest share of keys inside over the share of workers, the share of trials in
        which it is at most 1, and the smallest number of workers per key inside.
        """
        count = self.stream(seed).key_count
        sets = _small_sets(self.workers)
        sizes = sets.sum(axis=1)
        largest, fewest = [], []
        for two in _candidates_by_trial(count, self.workers, self.trials, seed):
            inside = (sets[:, two[:, 0]] & sets[:, two[:, 1]]).sum(axis=1)
            largest.append(float((inside / count / (sizes / self.workers)).max()))
            fewest.append(float((sizes / np.maximum(inside, 1)).min()))
        return {
            "largest": max(largest),
            "within": float(np.mean(np.array(largest) <= 1 + 1e-12)),
            "expansion": min(fewest),
        }


@dataclass(frozen=True)
class LoadedFifth(Placement):
    """As `Placement`; the fifth of the workers that are the first candidates of most keys counts.

    Keys have equal probabilities.
    """

    kind: ClassVar[str] = "loaded-fifth"
    names: ClassVar[tuple[str, ...]] = ("inside", "outside", "apart")

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the largest loads of the fifth and of the others over the mean; the difference."""
        ids, keys = self.drawn(seed)
        loads = np.bincount(self.placed(ids, keys, seed), minlength=self.workers)
        first = np.bincount(candidates(keys, self.workers)[:, 0], minlength=self.workers)
        order = np.argsort(-first, kind="stable")
        fifth = self.workers // _PART
        inside, outside = (
            float(loads[of].max() / loads.mean()) for of in (order[:fifth], order[fifth:])
        )
        return {"inside": inside, "outside": outside, "apart": inside - outside}


def _candidates_by_trial(keys: int, workers: int, trials: int, seed: int) -> NDArray[np.int64]:
    """Draw the candidates of each key in each trial, int64[trials, keys, 2]."""
    return candidates(hashes(keys * trials, seed), workers).reshape(trials, keys, 2)


def _small_sets(workers: int) -> NDArray[np.bool_]:
    """Return all sets of at most a fifth of the workers, bool[S, workers].

    Examples
    --------
    >>> _small_sets(10).sum(axis=1).tolist().count(2)
    45
    """
    chosen = [
        each
        for size in range(1, workers // _PART + 1)
        for each in itertools.combinations(range(workers), size)
    ]
    sets = np.zeros((len(chosen), workers), dtype=bool)
    for row, each in enumerate(chosen):
        sets[row, list(each)] = True
    return sets
