"""Static power of two choices: each key stays on the less loaded of its two candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.groupings.base import Grouping, Router, Snapshot
from evenkey.groupings.tables.base import FirstSightRouter, merge_places

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class StaticChoices(Grouping):
    """Static power of two choices (``potc``): key grouping by one of two hashes, by load.

    A key has two candidate workers. The first message of the key goes to the candidate to which
    this source has sent less so far, in ties to the first candidate. A routing table keeps the key
    on this worker permanently (PKG paper, section 3.1, static PoTC). The candidates are those of
    `PartialKeyGrouping`.

    Guarantee: within one source, a key is on one worker. Sources decide independently, so until the
    epoch ends, a key can be on both candidates. At the end of the epoch, the sources agree on the
    candidate to which more messages of the key went. The maximum load is at least the load of the
    hottest key, as in key grouping. The table has an entry for every key, so the paper calls this
    grouping impractical.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 7, 8, 12, 7], dtype=np.uint64)
    >>> StaticChoices().router(workers=5).route(keys).tolist()
    [2, 2, 2, 3, 4, 2]
    """

    name: ClassVar[str] = "potc"
    compiled: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    remembers_every_key: ClassVar[bool] = True

    def _router(self, workers: int, source: int) -> Router:
        return FirstSightRouter(workers, source, everywhere=False)

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Merge routing tables: a key goes to the worker to which most of its messages went."""
        return merge_places(memories)
