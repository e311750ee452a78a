"""Partial key grouping: the least loaded of a few candidate workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.groupings.base import Grouping, LocalLoadRouter, Router

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray


@dataclass(frozen=True)
class PartialKeyGrouping(Grouping):
    """Partial key grouping (``pkg``): each message goes to the least loaded of d candidates.

    A key has d candidate workers, H_0(key) to H_(d-1)(key). H_0(key) is the worker of the key under
    key grouping; for j > 0, H_j(key) is a hash of H(key) and j, scaled to 0..W-1. Each message goes
    to the candidate to which this source has sent least so far, in ties to the first of them:

    ``worker = argmin over j < d of sent[H_j(key)]`` (PKG paper, section 5, Greedy-d; DKG
    paper, equation 2).

    Guarantee: let p1 be the share of the hottest key. If d >= 2 and ``p1 <= 1 / (5 * W)``, the
    imbalance after m messages is O(m/W) with high probability, and at most d workers hold a key
    (PKG paper, theorem 5.1 and section 5). A key with more than d/W of all messages cannot be
    balanced.

    Parameters
    ----------
    choices
        Number of candidates of a key, d, at least 1. At most W of them are distinct.
    variant
        ``storm``: the candidates of a key are distinct, as in Apache Storm 2. If a candidate equals
        an earlier one, the next worker that is not a candidate yet takes its place. ``paper``:
        independent hashes can collide, as in the paper and in Storm 0.10, so some keys have fewer
        candidates. With 2 choices, one in W keys has only 1 candidate.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 7, 8, 7], dtype=np.uint64)
    >>> PartialKeyGrouping().router(workers=5).route(keys).tolist()
    [2, 0, 2, 3, 0]
    >>> PartialKeyGrouping(variant="paper").router(workers=2).route(keys).tolist()
    [1, 0, 1, 0, 1]
    """

    name: ClassVar[str] = "pkg"
    compiled: ClassVar[bool] = True
    choices: int = 2
    variant: Literal["storm", "paper"] = "storm"

    def __post_init__(self) -> None:
        check_fields(self)
        if self.choices < 1:
            message = f"pkg: choices = {self.choices}: must be at least 1 choice"
            raise ConfigurationError(message)

    @property
    def most_workers_of_a_key(self) -> int | None:
        """Maximum number of workers that one key can be on: the number of choices."""
        return self.choices

    def _router(self, workers: int, source: int) -> Router:
        return _PartialKeyRouter(self, workers, source)


class _PartialKeyRouter(LocalLoadRouter):
    def __init__(self, grouping: PartialKeyGrouping, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self._distinct = grouping.variant == "storm"
        self._choices = min(grouping.choices, workers) if self._distinct else grouping.choices

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del times
        from evenkey.groupings import _kernels

        _kernels.partial_key(keys, weights, self._choices, self._distinct, self.sent, workers)
