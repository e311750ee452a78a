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
    """Rules by which a key is surprising, and its messages leave a worker.

    With t what the source has routed in this epoch, W workers, and e the share that the plan
    expects of a key, the key is surprising once its count exceeds

        ``(1 + excess) * e * t + 4 sqrt(e * t) + floor``,
        ``floor = min(max(least, part * t / max(W, 50)), most)``.

    One worker may hold many keys below their floor, which were cold until now. So if the
    key's worker is above its fair share by ``a``, and by more than chance explains,
    ``u = max(slack, 2 sqrt(W / t))``, its floor is ``max(fewest, floor * (u / a) ** steep)``.

    A message of a surprising key with count n may go to worker w, whose fair share is f, while w
    has at most ``(1 + slack * (1 - min(1, n W / (heavy * t)))) * f * t + margin``. So hot keys
    leave first: one more worker each takes many of their messages, while cold keys would be on
    many workers for little gain.
    """

    excess: float
    slack: float
    least: float = 16.0
    """Messages."""
    most: float = 200.0
    """Messages."""
    part: float = 0.015
    heavy: float = 3.0
    margin: float = 8.0
    """Messages."""
    fewest: float = 2.0
    """Messages."""
    steep: float = 4.0


class Cells(NamedTuple):
    """The counts of a source, and the expected ones.

    Keys are counted by cell: key h falls into cell ``h * 0x9E3779B97F4A7C15 mod 2**64 >> 48``. A
    cold key in the same cell as a surprising one is spread with it. With 65,536 cells these are
    few, and only their replication increases.
    """

    rows: NDArray[np.void]
    """[65536]: ``count`` int64, ``expected`` float32, the share, ``turn`` and ``width`` uint16, of
    the ring of workers that a surprising key goes round; empty if no key is surprising."""
    tally: NDArray[np.int64]
    """[2]: messages, and their weight."""


COUNTED: Snapshot = {"counted": np.ones(1, dtype=np.int64)}
"""Entry of a memory whose plan was made from the epoch itself: then no key is surprising."""
NO_RULES = SurpriseRules(0.0, 0.0)
NO_CELLS = Cells(np.zeros(0, dtype=_CELL), np.zeros(2, dtype=np.int64))
"""Of a router for which no key is surprising."""


def cells_for(memory: Snapshot) -> Cells:
    """Make cells that have counted nothing, for an epoch that starts from a memory."""
    rows = np.zeros(1 << CELL_BITS, dtype=_CELL)
    rows["width"] = 1
    if "expected_keys" in memory:
        shares = memory["expected_shares"].astype(np.float64)
        products = memory["expected_keys"] * MULTIPLIER
        places = (products >> np.uint64(64 - CELL_BITS)).astype(np.int64)
        # The keys that are not tracked have about the same load in every cell.
        rest = max(0.0, 1.0 - shares.sum()) / len(rows)
        rows["expected"] = rest + np.bincount(places, shares, minlength=len(rows))
    return Cells(rows, np.zeros(2, dtype=np.int64))


def expectations(statistics: KeyStatistics) -> Snapshot:
    """Give the expected share of each known key.

    Returns
    -------
    Snapshot
        ``expected_keys`` uint64[k] and ``expected_shares`` float32[k].
    """
    keys, loads, _ = statistics.items(0.0)
    shares = loads / max(1e-300, statistics.total)
    return {"expected_keys": keys, "expected_shares": shares.astype(np.float32)}
