"""Online greedy: a new key goes to the least loaded of all workers, and stays there."""

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

    At a key's first message it gets the worker to which this source has sent least so far; of
    equals the first on the ring from key grouping's worker on. A routing table keeps it there
    (PKG paper, section 6, On-Greedy).

    Guarantee: within one source a key is on one worker. Several sources decide apart, so that
    a key may be on as many workers as there are sources until an epoch ends: then they agree
    on the one that most of its messages went to. The maximum load is at least that of the
    hottest key, and the table has an entry for every key.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 8, 12, 7], dtype=np.uint64)
    >>> OnlineGreedy().router(workers=5).route(keys).tolist()
    [2, 2, 3, 4, 2]
    """

    name: ClassVar[str] = "on-greedy"
    learns: ClassVar[bool] = True
    remembers_every_key: ClassVar[bool] = True

    def _router(self, workers: int, source: int) -> Router:
        return FirstSightRouter(workers, source, everywhere=True)

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Merge routing tables: a key goes where most of its messages went."""
        return merge_places(memories)
