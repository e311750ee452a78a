"""Partial key grouping: the least loaded of a few candidate workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.errors import ConfigurationError
from evenkey.groupings.base import Grouping, LocalLoadRouter, Router

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["PartialKey"]


@dataclass(frozen=True)
class PartialKey(Grouping):
    """Partial key grouping (``pkg``): key splitting over d choices by local load.

    A key has d distinct candidate workers. The first is key grouping's; candidate j > 0 is
    ``mix(H(key), j)`` scaled to 0..W-1, moved on to the next free worker where it meets an
    earlier candidate (Apache Storm's rule, so that there are always two when W > 1). Each
    message goes to the candidate to which this source has sent least so far, the first of
    equals:

    ``worker = argmin over j < d of sent[H_j(key)]`` (DKG paper, equation 2).

    Guarantee: with d >= 2 and p1 <= 1/(5W), imbalance after m messages is O(m/W) with
    high probability and at most d workers hold a key (PKG paper, theorem 5.1 and
    section 5). A key with more than d/W of all messages cannot be balanced.

    Parameters
    ----------
    choices
        Candidates a key has, d, at least 1; at most W are used.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 7, 8, 7], dtype=np.uint64)
    >>> PartialKey().router(workers=5).route(keys).tolist()
    [2, 0, 2, 3, 0]
    """

    name: ClassVar[str] = "pkg"
    choices: int = 2

    def __post_init__(self) -> None:
        if self.choices < 1:
            message = f"pkg: choices = {self.choices}: a key needs at least 1 choice"
            raise ConfigurationError(message)

    def _router(self, workers: int, source: int) -> Router:
        return _PartialKeyRouter(workers, source, min(self.choices, workers))


class _PartialKeyRouter(LocalLoadRouter):
    def __init__(self, workers: int, source: int, choices: int) -> None:
        super().__init__(workers, source)
        self._candidates = np.empty(choices, dtype=np.int64)

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del times
        from evenkey.groupings import _kernels

        _kernels.partial_key(keys, weights, self._candidates, self.sent, workers)
