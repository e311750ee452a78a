"""Surprising keys: what a source counts to detect keys that come more often than planned."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evenkey.groupings.base import Snapshot
    from evenkey.groupings.planned.statistics import KeyStatistics

CELL_BITS = 16
_CELL = np.dtype(
    [("count", "<i8"), ("expected", "<f4"), ("turn", "<u2"), ("width", "<u2")], align=True
)
MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)


class SurpriseRules(NamedTuple):
    """Rules for when a key is surprising, and when its messages leave a worker.

    Let t be the number of messages that the source has routed in this epoch, W the number of
    workers, and e the share of messages that the plan expects for a key. The key is surprising
    once its count exceeds

        ``(1 + excess) * e * t + 4 sqrt(e * t) + floor``,
        ``floor = min(max(least, part * t / max(W, 50)), most)``.

    Many keys that were cold until now may together overload one worker, although each is below
    its floor. So the floor is lower on an overloaded worker. Let the worker's load be ``1 + a``
    times its fair share, and ``u = max(slack, 2 sqrt(W / t))`` what slack and chance explain. If
    ``a > u``, the floor of its keys is ``max(fewest, floor * (u / a) ** steep)``.

    A message of a surprising key with count n may go to a worker with fair share f only while that
    worker has at most ``(1 + slack * (1 - min(1, n W / (heavy * t)))) * f * t + margin`` messages.
    So hot keys leave an overloaded worker first: with one more worker each, many messages move.
    Cold keys would have to be on many more workers for the same effect.
    """

    excess: float
    slack: float
    least: float = 16.0
    """In messages."""
    most: float = 200.0
    """In messages."""
    part: float = 0.015
    heavy: float = 3.0
    margin: float = 8.0
    """In messages."""
    fewest: float = 2.0
    """In messages."""
    steep: float = 4.0


class Cells(NamedTuple):
    """Message counts of a source by cell, and the expected shares.

    Keys are counted by cell: the cell of a key with hash h is
    ``(h * 0x9E3779B97F4A7C15 mod 2**64) >> 48``. A cold key in the same cell as a surprising one is
    spread with it. With 65,536 cells such keys are few, and only their replication increases.
    """

    rows: NDArray[np.void]
    """[65536] records, or none if no key can be surprising: ``count`` int64; ``expected`` float32,
    the expected share; ``width`` uint16, on how many workers a surprising key may be; ``turn``
    uint16, on which of them it is now."""
    tally: NDArray[np.int64]
    """[2]: number of messages, and the sum of their weights."""


COUNTED: Snapshot = {"counted": np.ones(1, dtype=np.int64)}
"""Entry of a memory whose plan was made from the epoch itself, in which no key is surprising."""
NO_RULES = SurpriseRules(0.0, 0.0)
NO_CELLS = Cells(np.zeros(0, dtype=_CELL), np.zeros(2, dtype=np.int64))
"""Cells of a router for which no key is surprising."""


def cells_for(memory: Snapshot) -> Cells:
    """Make cells with zero counts, for an epoch that starts from a memory."""
    rows = np.zeros(1 << CELL_BITS, dtype=_CELL)
    rows["width"] = 1
    if "expected_keys" in memory:
        shares = memory["expected_shares"].astype(np.float64)
        products = memory["expected_keys"] * MULTIPLIER
        places = (products >> np.uint64(64 - CELL_BITS)).astype(np.int64)
        # The load of keys that are not tracked is about the same in every cell.
        rest = max(0.0, 1.0 - shares.sum()) / len(rows)
        rows["expected"] = rest + np.bincount(places, shares, minlength=len(rows))
    return Cells(rows, np.zeros(2, dtype=np.int64))


def expectations(statistics: KeyStatistics) -> Snapshot:
    """Return the expected share of messages of each tracked key.

    Returns
    -------
    Snapshot
        ``expected_keys`` uint64[k] and ``expected_shares`` float32[k].
    """
    keys, loads, _ = statistics.items(0.0)
    shares = loads / max(1e-300, statistics.total)
    return {"expected_keys": keys, "expected_shares": shares.astype(np.float32)}
