"""Cardinality with affinity: of two candidate workers, prefer the one that holds the key."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.groupings.base import Grouping, Router, Snapshot
from evenkey.groupings.tables.base import TableRouter, merge_places

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray


@dataclass(frozen=True)
class CardinalityAffinity(Grouping):
    """Cardinality with affinity (``cam``): a new key goes to the worker with fewer keys, and stays.

    A message of key k has the two candidate workers of `PartialKeyGrouping`. A candidate holds k if
    it has already got a message of k. Each source uses only what it has sent itself, and chooses by
    three rules:

    1. If exactly one candidate holds k, it gets the message. If both hold k, the less loaded one
       gets the message.
    2. If neither candidate holds k, the one that holds fewer keys gets the message; in ties the
       less loaded one, then the first one.
    3. With a `tolerance`, if the candidate chosen by rule 1 has a load above
       ``(1 + tolerance) * total / W``, the less loaded of the two candidates gets the message
       instead. From then on, this candidate holds k as well.

    Rules 1 and 2 are the method cAM of N. R. Katsipoulakis, A. Labrinidis and P. K. Chrysanthis, A
    holistic view of stream partitioning costs, VLDB 2017, with exact sets of keys. Rule 3 is an
    addition of evenkey (decision 022).

    Guarantee: without a tolerance, a key is on one worker if there is one source, and on at most
    two workers if there are several. The maximum load is then at least the load of the hottest key.
    With a tolerance, hot keys are balanced as in ``pkg``, and the replication is between the
    replications of ``potc`` and ``pkg``. The table has an entry for every key.

    Parameters
    ----------
    tolerance
        How far above the mean load a worker can be before its keys are split, as a share of the
        mean; at least 0. None: keys are never split.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 7, 8, 12, 7], dtype=np.uint64)
    >>> CardinalityAffinity().router(workers=5).route(keys).tolist()
    [2, 2, 2, 3, 4, 2]
    >>> CardinalityAffinity(tolerance=0.5).router(workers=5).route(keys).tolist()
    [2, 0, 2, 3, 4, 0]
    """

    name: ClassVar[str] = "cam"
    compiled: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    remembers_every_key: ClassVar[bool] = True

    tolerance: float | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.tolerance is not None and not self.tolerance >= 0:
            message = f"cam: tolerance = {self.tolerance:g}: must be at least 0, or none"
            raise ConfigurationError(message)

    def _router(self, workers: int, source: int) -> Router:
        return _AffinityRouter(self, workers, source)

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Merge routing tables: a key is held by every worker to which any source has sent it."""
        return merge_places(memories, all_of_them=True)


class _AffinityRouter(TableRouter):
    def __init__(self, grouping: CardinalityAffinity, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self._most_place = 0b11  # One bit per candidate: whether it holds the key.
        self._most = math.inf if grouping.tolerance is None else 1 + grouping.tolerance

    def _hold(self, items: NDArray[np.void]) -> None:
        super()._hold(items)
        from evenkey.groupings.tables import _kernels

        self._cardinality = np.zeros(self.workers, dtype=np.int64)
        _kernels.count_keys(items, self._cardinality)

    def _route_from(
        self,
        start: int,
        keys: NDArray[np.uint64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> int:
        from evenkey.groupings.tables import _kernels

        done: int = _kernels.prefer_holders(
            keys,
            weights,
            start,
            self._held,
            self._table,
            self._most,
            self._cardinality,
            self.sent,
            workers,
        )
        return done
