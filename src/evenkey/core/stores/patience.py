"""Repeats calls to a store that may be slow or unreachable for a while, or whose answer is lost."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ANSWER", "CONNECT", "PATIENCE", "patiently"]

Result = TypeVar("Result")

PATIENCE = 60.0
"""Seconds after the first call during which a failed call is repeated."""
CONNECT = 5.0
"""Seconds to wait for a connection."""
ANSWER = 30.0
"""Seconds to wait for the next bytes of an answer."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


def patiently(call: Callable[[], Result], passes: Callable[[Exception], bool]) -> Result:
    """Repeat a call until it succeeds, fails permanently, or has failed for `PATIENCE` seconds.

    Pauses between calls grow from 0.1 to 2 seconds. Each is shortened at random, to no less than
    half, so that the tasks of a stage do not all call again at the same moment.

    Parameters
    ----------
    call
        Function to call. The store may have done the work although the call raised, so it must be
        safe to repeat.
    passes
        Function that returns whether the same call may succeed later, given its error.
    """
    end = time.monotonic() + PATIENCE
    pause = _FIRST_PAUSE
    while True:
        try:
            return call()
        except Exception as error:
            if not passes(error) or time.monotonic() >= end:
                raise
        time.sleep(pause * random.uniform(0.5, 1))  # noqa: S311 - no secret
        pause = min(2 * pause, _LONGEST_PAUSE)
