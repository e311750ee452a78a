"""W-Choices: a hot key can go to any worker, any other key to one of two workers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from evenkey.groupings.heads.base import HeadGrouping, HeadRouter

if TYPE_CHECKING:
    from evenkey.groupings.base import Router


@dataclass(frozen=True)
class WChoices(HeadGrouping):
    """W-Choices (``wchoices``): any worker for each hot key, two candidates for each other key.

    The head consists of the hot keys: all keys whose frequency exceeds ``theta = 1 / (5 * W)``. All
    other keys are the tail. Each source finds the head by SpaceSaving. A message of a key in the
    head goes to the worker to which this source has sent least, in ties to the worker with the
    lowest number. All other messages are routed as in `PartialKeyGrouping`.

    Guarantee: while the head has enough messages to balance the tail, the loads that one source has
    sent to two workers differ by at most one message. A key in the tail is on at most two workers.
    At most ``5 * W`` keys are in the head of a source at any time. Every key in the head has a
    frequency of at least theta. Every key whose frequency exceeds theta by ``1 / capacity`` is in
    the head. Source: M. A. U. Nasir, G. De Francisci Morales, N. Kourtellis and M. Serafini, When
    two choices are not enough, ICDE 2016.

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

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 7, 8, 7, 7, 7], dtype=np.uint64)
    >>> WChoices().router(workers=5).route(keys).tolist()
    [0, 1, 2, 3, 4, 0, 1]
    """

    name: ClassVar[str] = "wchoices"

    def _router(self, workers: int, source: int) -> Router:
        return HeadRouter(self, workers, source, epsilon=0.0, interval=0)
