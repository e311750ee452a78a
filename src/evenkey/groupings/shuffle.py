"""Shuffle grouping: messages go to the workers in turn."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.groupings.base import Grouping, Router, Snapshot

if TYPE_CHECKING:
    from numpy.typing import NDArray


@dataclass(frozen=True)
class ShuffleGrouping(Grouping):
    """Shuffle grouping (``sg``): round robin, independent of the key.

    Message i of source s goes to worker ``(s + i) mod W``. Balance is perfect: with one source, the
    message counts of two workers never differ by more than 1. The price is replication: a key can
    be on all W workers, and the partial results of these workers must be merged. Weights are
    ignored: each message counts as 1.

    Guarantee: with S sources, the message counts of two workers differ by at most S
    (``max - min <= S``).
    Source: PKG paper, section 2; DKG paper, section 3.4.

    Examples
    --------
    >>> import numpy as np
    >>> ShuffleGrouping().router(workers=3).route(np.array([7, 7, 7, 7], dtype=np.uint64)).tolist()
    [0, 1, 2, 0]
    """

    name: ClassVar[str] = "sg"
    native = "row number"

    def _router(self, workers: int, source: int) -> Router:
        return _ShuffleRouter(workers, source)


class _ShuffleRouter(Router):
    local_fields: ClassVar[tuple[str, ...]] = ("position",)

    def __init__(self, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self.position = source % workers

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del keys, times, weights
        end = self.position + len(workers)
        workers[:] = np.arange(self.position, end) % self.workers
        self.position = end % self.workers

    def snapshot(self) -> Snapshot:
        return {"position": np.array([self.position], dtype=np.int64)}

    def restore(self, snapshot: Snapshot) -> None:
        self.position = int(snapshot["position"][0]) % self.workers
