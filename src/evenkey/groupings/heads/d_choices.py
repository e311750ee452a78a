"""D-Choices: as many candidates for hot keys as balance needs, two for the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.core.errors import ConfigurationError
from evenkey.groupings.heads.base import HeadGrouping, HeadRouter

if TYPE_CHECKING:
    from evenkey.groupings.base import Router


@dataclass(frozen=True)
class DChoices(HeadGrouping):
    """D-Choices (``dchoices``): d candidates for the head, two for the tail, by local load.

    The head are the keys whose frequency exceeds ``theta = 1/(5W)``, found by SpaceSaving in
    each source. The number of choices d is the least, from ``max(2, ceil(p1 W))`` on, that
    satisfies for every prefix h = 1, ..., |H| of the head, hottest key first,

    ``sum_{i<=h} p_i + (b_h/W)^d sum_{h<i<=|H|} p_i + (b_h/W)^2 sum_{i>|H|} p_i
    <= b_h (1/W + epsilon)`` with ``b_h = W - W (1 - d/W)^h``:

    the workers of the h hottest keys, b_h in expectation, must not be overloaded. (The paper
    has ``((W-1)/W)^(h d)``, because its candidates may collide.) Where no d < W does, a head
    key may go to any worker, as under `WChoices`.

    The first two candidates are those of `PartialKeyGrouping`; the others go on round the ring by
    the distance between these two, and one further where that comes back to where it began
    (double hashing; decision 021). A message goes to the least loaded candidate: in the head of
    equals the lowest worker, in the tail the first candidate.

    Guarantee: d satisfies the constraint, which is necessary for the expected imbalance to be
    at most epsilon; a key in the tail is on at most two workers and one in the head on at
    most d. Source: M. A. U. Nasir, G. De Francisci Morales, N. Kourtellis and M. Serafini,
    When two choices are not enough: balancing at scale in distributed stream processing,
    ICDE 2016.

    Parameters
    ----------
    threshold, capacity, decay
        As under `WChoices`.
    epsilon
        Imbalance that is aimed at, a share of all messages; at least 0.
    solve_every
        Messages after which a source computes d again, at least 1; before that it does so after
        1, 2, 4, ... messages.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 7, 8, 7, 7, 7], dtype=np.uint64)
    >>> DChoices().router(workers=5).route(keys).tolist()
    [0, 1, 2, 3, 4, 0, 1]
    """

    name: ClassVar[str] = "dchoices"

    epsilon: float = 1e-4
    solve_every: int = 10_000

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.epsilon >= 0:
            message = f"dchoices: epsilon = {self.epsilon:g}: must be at least 0"
            raise ConfigurationError(message)
        if self.solve_every < 1:
            message = f"dchoices: solve_every = {self.solve_every}: must be at least 1 message"
            raise ConfigurationError(message)

    def _router(self, workers: int, source: int) -> Router:
        return HeadRouter(self, workers, source, epsilon=self.epsilon, interval=self.solve_every)
