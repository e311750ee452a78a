"""Store the plan of the next run from what this run has counted, once it has ended."""

from __future__ import annotations

import atexit
import concurrent.futures.thread  # noqa: F401 - registers its end before this module does
import contextlib
import logging
import threading
from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.errors import text_of
from evenkey.spark.plans.learned_loads import loads_of
from evenkey.spark.sessions.query_events import wait_for_events

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evenkey.groupings import KeyStatistics
    from evenkey.spark.plans.learned_loads import LearnedLoads

logger = logging.getLogger(__name__)

_MOST_OPEN = 100
"""Runs that are waited for; of more, the first ones are forgotten."""
_lock = threading.Lock()


class _Run(NamedTuple):
    inputs: tuple[LearnedLoads, ...]
    empty: KeyStatistics
    workers: int
    store: Callable[[KeyStatistics, float], None]


_open: list[_Run] = []


def learn_later(
    inputs: Sequence[LearnedLoads],
    empty: KeyStatistics,
    workers: int,
    store: Callable[[KeyStatistics, float], None],
) -> None:
    """Store a plan when the rows of all inputs were computed.

    The plan is stored by the next call of `learn_now`, and at the latest when Python ends.

    Parameters
    ----------
    inputs, empty, workers
        As for `loads_of`.
    store
        Function that makes a plan from loads and the bound on their error, and stores it.
    """
    with _lock:
        _open.append(_Run(tuple(inputs), empty, workers, store))
        del _open[:-_MOST_OPEN]


def learn_now() -> None:
    """Store the plans of all runs that have ended; a run that has not ended stays open."""
    with _lock:
        runs, _open[:] = list(_open), []
    if runs:
        # Java may have ended already.
        with contextlib.suppress(Exception):
            wait_for_events()
    waiting = [each for each in runs if not _learned(each)]
    with _lock:
        _open[:0] = waiting


def _learned(run: _Run) -> bool:
    """Store the plan that follows from a run; return whether the run has ended."""
    try:
        found = loads_of(run.inputs, run.empty, run.workers)
        if found is not None:
            run.store(*found)
    except Exception as error:  # noqa: BLE001 - an old plan must not stop the user's job
        logger.warning("the plan of the next run is not stored: %s", text_of(error))
        return True
    return found is not None


atexit.register(learn_now)
# Over Connect a task stores the plan. PySpark then uses a pool of threads, which Python closes
# before it calls exit handlers. So this comes before: the last of these functions is called first.
getattr(threading, "_register_atexit", atexit.register)(learn_now)
