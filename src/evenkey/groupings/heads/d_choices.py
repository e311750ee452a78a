"""D-Choices: as many candidates for hot keys as balance needs, two for all other keys."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.core.errors import ConfigurationError
from evenkey.groupings.heads.base import HeadGrouping, HeadRouter

if TYPE_CHECKING:
    from evenkey.groupings.base import Router


@dataclass(frozen=True)
class DChoices(HeadGrouping):
    """D-Choices (``dchoices``): d candidates for each hot key, two for each other key.

    The head H consists of the hot keys: all keys whose frequency exceeds ``1 / (5 * W)``. All other
    keys are the tail. Each source finds the head by SpaceSaving. Let ``p_i`` be the frequency of
    the i-th hottest key. The number of candidates d is the least number, from
    ``max(2, ceil(p_1 * W))`` on, that satisfies this constraint for every prefix of the head, that
    is, for ``h = 1, ..., |H|``::

        sum of p_i for i <= h
          + (b_h / W)**d * (sum of p_i for h < i <= |H|)
          + (b_h / W)**2 * (sum of p_i for i > |H|)
        <= b_h * (1 / W + epsilon)

        where b_h = W - W * (1 - d / W)**h

    In words: the workers of the h hottest keys, whose expected number is ``b_h``, must not be
    overloaded. On the left is the share of messages that they get: all messages of the h hottest
    keys, and those of the other keys whose candidates are all among these workers (d candidates for
    a key of the head, two for a key of the tail). On the right is the fair share of ``b_h``
    workers, plus `epsilon` for each of them. In the paper, ``b_h`` has ``((W - 1) / W)**(h * d)``
    in place of ``(1 - d / W)**h``, because the candidates of the paper may collide. If no d < W
    satisfies the constraint, a key of the head may go to any worker, as in `WChoices`.

    The first two candidates of a key are those of `PartialKeyGrouping`. The distance between them
    on the ring of workers is the step. Each further candidate is one step after the previous
    candidate. If the steps come back to the worker where they started, they continue from the
    worker after it (double hashing; decision 021). A message goes to the least loaded candidate.
    Ties go to the worker with the lowest number if the key is in the head, else to the first
    candidate.

    Guarantee: d satisfies the constraint, which is necessary for an expected imbalance of at most
    epsilon. A key in the tail is on at most two workers, a key in the head on at most d. Source: M.
    A. U. Nasir, G. De Francisci Morales, N. Kourtellis and M. Serafini, When two choices are not
    enough: balancing at scale in distributed stream processing, ICDE 2016.

    Parameters
    ----------
    threshold
        Share of a source's messages above which a key is in the head, above 0 and below 1;
        None: ``1 / (5 * W)``.
    capacity
        Number of counters of the sketch. None: 4 times the maximum number of keys in the head, but
        at least 1,000.
    decay
        Factor by which all counts are multiplied at the end of each epoch; above 0 and at most 1.
        Counts do not decay within an epoch. With 1, nothing is forgotten.
    epsilon
        Imbalance that d may leave, as a share of all messages; at least 0.
    solve_every
        Number of messages after which a source computes d again, at least 1. At the start, until
        this number is reached, a source computes d after 1, 2, 4, ... messages.

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
