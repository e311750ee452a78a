"""Repeat calls to a store that may be slow or unreachable, or whose answers may get lost."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["ANSWER", "CONNECT", "PATIENCE", "patiently"]

Result = TypeVar("Result")

PATIENCE = 60.0
"""A failed call is repeated until this many seconds after the first call."""
CONNECT = 5.0
"""Seconds to wait for a connection."""
ANSWER = 30.0
"""Seconds to wait for the next bytes of a response."""
_FIRST_PAUSE = 0.1
_LONGEST_PAUSE = 2.0


def patiently(call: Callable[[], Result], passes: Callable[[Exception], bool]) -> Result:
    """Repeat a call until it succeeds, fails permanently, or has failed for `PATIENCE` seconds.

    Pauses between calls grow from 0.1 to 2 seconds. Each pause is multiplied by a random factor
    between 0.5 and 1, so that the tasks of a stage do not all call again at the same moment.

    Parameters
    ----------
    call
        Function to call. It must be safe to call again, because the store may have done the work
        although the call raised an error.
    passes
        Function that takes the error of a call, and returns whether the same call may succeed
        later.
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
