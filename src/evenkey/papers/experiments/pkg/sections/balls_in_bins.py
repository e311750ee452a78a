"""Place keys on workers by a rule, as section 5 of the PKG paper places balls in bins."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.groupings import parse
from evenkey.papers.experiments.pkg.draws import Drawn, hashes, occurrences
from evenkey.papers.experiments.pkg.techniques import PKG

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

ALTERNATING, RANDOM = "alternating", "random"
"""Rules that no grouping has: the messages of a key go to its two candidates in turn, or to one of
the two at random."""

_FULL = 1 << 40


@dataclass(frozen=True)
class Placement(Drawn):
    """One source places the messages of a stream on workers.

    Parameters
    ----------
    rule
        A grouping, `ALTERNATING` or `RANDOM`.
    workers
        Number of workers.
    """

    kind: ClassVar[str] = "placement"
    names: ClassVar[tuple[str, ...]] = ("imbalance", "unused")

    rule: str
    workers: int

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the imbalance at the end in messages, and the share of workers without any."""
        loads = self.loads(seed)
        imbalance = float(loads.max() - loads.mean())
        return {"imbalance": imbalance, "unused": float(np.mean(loads == 0))}

    def loads(self, seed: int) -> NDArray[np.int64]:
        """Return the messages of each worker in a draw, int64[workers]."""
        ids, keys = self.drawn(seed)
        return np.bincount(self.placed(ids, keys, seed), minlength=self.workers)

    def drawn(self, seed: int) -> tuple[NDArray[np.int64], NDArray[np.uint64]]:
        """Return the number of each message's key, and the hash of each key."""
        stream = self.stream(seed)
        return stream.ids(0, stream.length), hashes(stream.key_count, seed)

    def placed(
        self, ids: NDArray[np.int64], keys: NDArray[np.uint64], seed: int
    ) -> NDArray[np.int64]:
        """Choose a worker for each message, int64[n].

        Parameters
        ----------
        ids
            Number of each message's key.
        keys
            Hash of each key.
        seed
            Seed of random choices.
        """
        if self.rule == ALTERNATING:
            choice = occurrences(ids) % 2
        elif self.rule == RANDOM:
            choice = np.random.default_rng(seed).integers(2, size=len(ids))
        else:
            return parse(self.rule).router(self.workers).route(keys[ids]).astype(np.int64)
        return candidates(keys, self.workers)[ids, choice]


@dataclass(frozen=True)
class Course(Placement):
    """As `Placement`, but the imbalance after each message counts."""

    kind: ClassVar[str] = "course"
    names: ClassVar[tuple[str, ...]] = ("imbalance",)

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the largest imbalance after any message, in messages."""
        ids, keys = self.drawn(seed)
        placed = self.placed(ids, keys, seed)
        largest = np.maximum.accumulate(occurrences(placed) + 1)
        mean = np.arange(1, len(ids) + 1) / self.workers
        return {"imbalance": float((largest - mean).max())}


@dataclass(frozen=True)
class TwoKeys(Placement):
    """As `Placement`, with two keys whose two candidates each are four different workers."""

    kind: ClassVar[str] = "two-keys"
    names: ClassVar[tuple[str, ...]] = ("imbalance", "difference")

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the imbalance at the end, and the largest difference of a key's two loads."""
        stream = self.stream(seed)
        ids = stream.ids(0, stream.length)
        for attempt in itertools.count():
            keys = hashes(2, seed + attempt * _FULL)
            two = candidates(keys, self.workers)
            if len(np.unique(two)) == two.size:
                break
        placed = self.placed(ids, keys, seed)
        loads = np.bincount(placed, minlength=self.workers)
        signs = np.where(placed == two[ids, 0], 1, -1)
        apart = max(int(np.abs(np.cumsum(signs[ids == key])).max()) for key in (0, 1))
        return {"imbalance": float(loads.max() - loads.mean()), "difference": apart}


@dataclass(frozen=True)
class HotWorkers(Drawn):
    """Counts workers whose keys have many messages under key grouping (lemma 5.4 with one worker).

    Each key of the stream has the same probability.

    Parameters
    ----------
    workers
        Number of workers, n.
    times
        A worker counts if its keys have ``e * times / n`` or more of all messages.
    """

    kind: ClassVar[str] = "hot-workers"
    names: ClassVar[tuple[str, ...]] = ("hot",)

    workers: int
    times: float

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return the share of the workers that count."""
        keys = hashes(self.stream(seed).key_count, seed)
        shares = np.bincount(parse("kg").router(self.workers).route(keys), minlength=self.workers)
        hot = shares / len(keys) >= math.e * self.times / self.workers
        return {"hot": float(hot.mean())}


def candidates(keys: NDArray[np.uint64], workers: int) -> NDArray[np.int64]:
    """Find the two candidates of each key under PKG, int64[keys, 2], which may be the same worker.

    The first is the key's worker under key grouping. The second is where PKG sends the key if the
    first has a far greater load than any other worker.

    Examples
    --------
    >>> two = candidates(hashes(4, seed=0), workers=5)
    >>> sent = parse(PKG).router(5).route(hashes(4, seed=0))
    >>> bool((sent[:, None] == two).any(axis=1).all())
    True
    """
    two = np.empty((len(keys), 2), dtype=np.int64)
    two[:, 0] = parse("kg").router(workers).route(keys)
    for worker in range(workers):
        router = parse(PKG).router(workers)
        router.restore({"sent": np.where(np.arange(workers) == worker, _FULL, 0)})
        here = two[:, 0] == worker
        two[here, 1] = router.route(keys[here])
    return two
