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
    workers, and e the share of messages that the plan expects for a key. All other names in the
    formulas are fields of this class. The key is surprising once its count exceeds

        ``(1 + excess) * e * t + 4 sqrt(e * t) + floor``,
        ``floor = min(max(least, part * t / max(W, 50)), most)``.

    Many keys that were cold until now may together overload one worker, although each of them is
    below its floor. So the floor is lower on an overloaded worker. Let the load of a worker be
    ``1 + a`` times its fair share. Slack and chance explain an ``a`` of up to
    ``u = max(slack, 2 sqrt(W / t))``. If ``a > u``, the floor of the keys on this worker is
    ``max(fewest, floor * (u / a) ** steep)``.

    A message of a surprising key with count n may go to a worker with fair share f only while that
    worker has at most ``(1 + slack * (1 - min(1, n W / (heavy * t)))) * f * t + margin`` messages.
    So hot keys leave an overloaded worker first. If a hot key gets one more worker, many messages
    move. To move as many messages of cold keys, many keys would each need one more worker.
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
    """Message counts of a source by cell, and the share of messages that is expected in each cell.

    Keys are not counted individually but by cell. The cell of a key with hash h is
    ``(h * 0x9E3779B97F4A7C15 mod 2**64) >> 48``. A cold key in the same cell as a surprising key is
    spread too. With 65,536 cells, such cold keys are few, and only their replication increases.
    """

    rows: NDArray[np.void]
    """[65536] records; no records if no key can be surprising. Fields: ``count`` int64, weight of
    the cell's messages; ``expected`` float32, expected share of messages; ``width`` uint16, number
    of workers on which a surprising key of the cell may be; ``turn`` uint16, index of the worker
    among them to which its messages go now."""
    tally: NDArray[np.int64]
    """[2]: number of messages, and the sum of their weights."""


COUNTED: Snapshot = {"counted": np.ones(1, dtype=np.int64)}
"""Entry that marks a memory in whose epoch no key is surprising, such as a memory with a plan that
was made from the epoch itself."""
NO_RULES = SurpriseRules(0.0, 0.0)
NO_CELLS = Cells(np.zeros(0, dtype=_CELL), np.zeros(2, dtype=np.int64))
"""Cells of a router that treats no key as surprising."""


def cells_for(memory: Snapshot) -> Cells:
    """Make cells with zero counts, for an epoch that starts from a memory."""
    rows = np.zeros(1 << CELL_BITS, dtype=_CELL)
    rows["width"] = 1
    if "expected_keys" in memory:
        shares = memory["expected_shares"].astype(np.float64)
        products = memory["expected_keys"] * MULTIPLIER
        places = (products >> np.uint64(64 - CELL_BITS)).astype(np.int64)
        # Keys that are not tracked add about the same load to every cell.
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
