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

    The head consists of the keys whose frequency exceeds ``theta = 1/(5W)``; each source finds
    them by SpaceSaving. The number of choices d is the least number, from ``max(2, ceil(p1 W))``
    on, that satisfies for every prefix h = 1, ..., |H| of the head, hottest key first,

    ``sum_{i<=h} p_i + (b_h/W)^d sum_{h<i<=|H|} p_i + (b_h/W)^2 sum_{i>|H|} p_i
    <= b_h (1/W + epsilon)`` with ``b_h = W - W (1 - d/W)^h``:

    that is, the workers of the h hottest keys, b_h in expectation, must not be overloaded. (The
    paper has ``((W-1)/W)^(h d)`` in b_h, because its candidates may collide.) If no d < W
    satisfies this, a head key may go to any worker, as in `WChoices`.

    The first two candidates are those of `PartialKeyGrouping`. Each further candidate follows on
    the ring of workers, at the distance between the first two; where the steps come back to their
    start, they continue one worker further (double hashing; decision 021). A message goes to the
    least loaded candidate. In ties it goes to the lowest worker if its key is in the head, else to
    the first candidate.

    Guarantee: d satisfies the constraint, which is necessary for the expected imbalance to be
    at most epsilon; a key in the tail is on at most two workers and one in the head on at
    most d. Source: M. A. U. Nasir, G. De Francisci Morales, N. Kourtellis and M. Serafini,
    When two choices are not enough: balancing at scale in distributed stream processing,
    ICDE 2016.

    Parameters
    ----------
    threshold, capacity, decay
        As in `WChoices`.
    epsilon
        Imbalance that d allows, as a share of all messages; at least 0.
    solve_every
        Number of messages after which a source computes d again, at least 1. At the start, until
        this number is reached, it computes d after 1, 2, 4, ... messages.

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
