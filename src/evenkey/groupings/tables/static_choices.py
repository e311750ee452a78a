"""Static power of two choices: the less loaded of two candidates, once for each key."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.groupings.base import Grouping, Router, Snapshot
from evenkey.groupings.tables.base import FirstSightRouter, merge_places

if TYPE_CHECKING:
    from collections.abc import Sequence


@dataclass(frozen=True)
class StaticChoices(Grouping):
    """Static power of two choices (``potc``): key grouping by the better of two hashes.

    At a key's first message it gets the worker, of its two candidates, to which this source
    has sent less so far, the first of equals; a routing table keeps it there ever after (PKG
    paper, section 3.1, static PoTC). The candidates are those of `PartialKeyGrouping`.

    Guarantee: within one source a key is on one worker. Several sources decide apart, so a key
    may be on its two candidates until an epoch ends: then they agree on the one that more of
    its messages went to. The maximum load is at least that of the hottest key, as under key
    grouping, and the table has an entry for every key, which is why the paper calls it impractical.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 7, 8, 12, 7], dtype=np.uint64)
    >>> StaticChoices().router(workers=5).route(keys).tolist()
    [2, 2, 2, 3, 4, 2]
    """

    name: ClassVar[str] = "potc"
    learns: ClassVar[bool] = True
    remembers_every_key: ClassVar[bool] = True

    def _router(self, workers: int, source: int) -> Router:
        return FirstSightRouter(workers, source, everywhere=False)

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Merge routing tables: a key goes where most of its messages went."""
        return merge_places(memories)
