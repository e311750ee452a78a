"""Count the entries of routing tables, and the workers of a key, if sources do not agree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.groupings import parse
from evenkey.papers.experiments.pkg.draws import Drawn, hashes

if TYPE_CHECKING:
    from collections.abc import Mapping


@dataclass(frozen=True)
class RoutingEntries(Drawn):
    """Sources route by a grouping, each alone, and keep what the grouping remembers of keys.

    Parameters
    ----------
    grouping
        The grouping.
    workers, sources
        Number of workers, and of sources. Message i goes to source i modulo `sources`.
    """

    kind: ClassVar[str] = "routing-entries"
    names: ClassVar[tuple[str, ...]] = ("entries", "entries_per_key", "workers_of_a_key")

    grouping: str
    workers: int
    sources: int

    def draw(self, seed: int) -> Mapping[str, float]:
        """Return entries of a source, these per key that it sends, and the workers of a key."""
        stream = self.stream(seed)
        ids = stream.ids(0, stream.length)
        keys = hashes(stream.key_count, seed)
        placed = np.empty(len(ids), dtype=np.int64)
        entries, shares = [], []
        for source in range(self.sources):
            mine = slice(source, None, self.sources)
            router = parse(self.grouping).router(self.workers, source)
            placed[mine] = router.route(keys[ids[mine]])
            state = router.snapshot()
            kept = sum(len(state[name]) for name in state.keys() - {*router.local_fields})
            entries.append(kept)
            shares.append(kept / len(np.unique(ids[mine])))
        pairs = np.unique(ids * self.workers + placed)
        of_key = np.bincount(pairs // self.workers)
        return {
            "entries": float(np.mean(entries)),
            "entries_per_key": float(np.mean(shares)),
            "workers_of_a_key": float(of_key[of_key > 0].mean()),
        }
