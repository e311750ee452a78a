"""Online greedy: a new key goes to the least loaded of all workers, and stays on it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.groupings.base import Grouping, Router, Snapshot
from evenkey.groupings.tables.base import FirstSightRouter, merge_places

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class OnlineGreedy(Grouping):
    """Online greedy (``on-greedy``): each new key goes to the least loaded worker, permanently.

    The first message of a key goes to the worker to which this source has sent least so far. In
    ties, it goes to the first such worker on the ring of workers, starting from the key's worker
    under key grouping. A routing table keeps the key on this worker (PKG paper, section 6,
    On-Greedy).

    Guarantee: within one source, a key is on one worker. Sources decide independently, so until the
    epoch ends, a key can be on as many workers as there are sources. At the end of the epoch, the
    sources agree on the worker to which most messages of the key went. The maximum load is at least
    the load of the hottest key. The table has an entry for every key.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 8, 12, 7], dtype=np.uint64)
    >>> OnlineGreedy().router(workers=5).route(keys).tolist()
    [2, 2, 3, 4, 2]
    """

    name: ClassVar[str] = "on-greedy"
    compiled: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    remembers_every_key: ClassVar[bool] = True

    def _router(self, workers: int, source: int) -> Router:
        return FirstSightRouter(workers, source, everywhere=True)

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Merge routing tables: a key goes to the worker to which most of its messages went."""
        return merge_places(memories)
