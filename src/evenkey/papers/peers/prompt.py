"""A micro-batch partitioner: our reading of Prompt."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.checking import check_workers
from evenkey.groupings import Grouping, Router, Snapshot
from evenkey.groupings.tables import PLACE, check_read, descending, items_of, table_of, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_SOURCES_APART = 0.7548776662466927
"""Inverse of the plastic number. Its multiples modulo 1 are uniform, and differ from the multiples
of the golden ratio."""


@dataclass(frozen=True)
class PromptGrouping(Grouping):
    """A micro-batch partitioner (``prompt``): our reading of Prompt (SIGMOD 2020).

    A batch is buffered as a whole, so the frequency of each key is known before a message is
    routed. With N messages, K keys and P blocks (here the workers), the target of a block is N/P
    messages and K/P keys. The cut is N/K messages, or N/P if there are fewer keys than blocks. In
    descending order of frequency, the keys are assigned to blocks 1 to P, then P to 1, and so on.
    The block that a key is assigned to is its own block, and receives the key's messages up to the
    cut. Then the messages of hot keys above the cut are placed, the largest number first. They go
    to the key's own block if they fit there without exceeding N/P, otherwise to the block with the
    best fit. If they fit in no block as a whole, they fill the key's own block, and then the block
    with the most free capacity, until the rest fits. The messages of a key with several blocks are
    assigned in proportion to the key's shares by the golden ratio, as in `PlannedGrouping`. A key
    that is not in the plan goes to the worker that key grouping chooses.

    This is the map side of Prompt: a worker holds a block and its partial results, which are merged
    by key as in every grouping. Not implemented are Prompt's frequency-aware buffering, its buckets
    of the reduce stage and its elasticity. The counts are exact. We know of no public
    implementation, so we make no claim about the figures of the original Prompt.

    Guarantee: in the plan no block has more than N/P messages, unless the messages of its own keys
    up to the cut are already more. The numbers of own keys per block differ by at most one.
    Source: Abdelhamid, Mahmood, Daghistani and Aref, Prompt, SIGMOD 2020.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 7, 8, 7, 9, 7, 10], dtype=np.uint64)
    >>> grouping = PromptGrouping()
    >>> router = grouping.router(workers=2)
    >>> router.remember(grouping.plan(*np.unique(keys, return_counts=True), workers=2))
    >>> router.route(keys).tolist()
    [0, 1, 0, 1, 1, 1, 0, 0]
    """

    name: ClassVar[str] = "prompt"
    compiled: ClassVar[bool] = True
    given_frequencies: ClassVar[bool] = True
    peer: ClassVar[bool] = True

    def _router(self, workers: int, source: int) -> Router:
        return _PromptRouter(workers, source)

    def counts_first(self, memory: Snapshot) -> bool:
        """Return True: every epoch is buffered and counted before it is routed."""
        del memory
        return True

    def plan(self, keys: NDArray[np.uint64], counts: NDArray[np.float64], workers: int) -> Snapshot:
        """Place the keys of a batch; takes O(K log K), and O(W) for each key above the cut.

        Raises
        ------
        ConfigurationError
            `workers` is below 1, a count is below 0, or `counts` is not as long as `keys`.
        """
        from evenkey.papers.peers import _kernels

        check_workers(workers)
        keys, counts = descending("prompt", keys, counts)
        total, blocks = counts.sum(), np.arange(workers)
        cut = total / max(workers, len(keys))
        there_and_back = np.concatenate((blocks, blocks[::-1]))
        homes = there_and_back[np.arange(len(keys)) % (2 * workers)]
        first = np.minimum(counts, cut)
        remaining = total / workers - np.bincount(homes, first, minlength=workers)
        # Counts are in descending order, so keys above the cut come first.
        heavy = int(np.count_nonzero(counts > cut))
        most = heavy + 2 * workers + 1
        # Maximum number of pieces: each piece is the last of its key or fills a block, and a full
        # block stays full.
        rows, places, parts = np.empty(most, np.int64), np.empty(most, np.int64), np.empty(most)
        pieces = _kernels.place_rests(
            counts[:heavy] - cut, homes[:heavy], remaining, (rows, places, parts)
        )
        rows = np.concatenate((np.arange(heavy), rows[:pieces]))
        places = np.concatenate((homes[:heavy], places[:pieces]))
        parts = np.concatenate((first[:heavy], parts[:pieces]))
        pairs, of_pair = np.unique(rows * workers + places, return_inverse=True)
        shares = np.bincount(of_pair, parts, minlength=len(pairs)).astype(np.float64)
        rows, places = pairs // workers, pairs % workers
        lengths = np.bincount(rows, minlength=heavy)
        split = lengths > 1
        of_split = np.repeat(split, lengths)
        items = np.zeros(len(keys), dtype=PLACE)
        items["key"], items["count"], items["place"] = keys, 1, homes
        # A hot key with only one block is not split.
        items["place"][:heavy][~split] = places[~of_split]
        items["place"][:heavy][split] = workers + np.arange(split.sum())
        ends = np.cumsum(lengths[split])
        below = np.concatenate(([0.0], np.cumsum(shares[of_split])))
        starts = np.concatenate(([0], ends)).astype(np.int64)
        return {
            "items": np.sort(items, order="key"),
            "starts": starts,
            "places": places[of_split].astype(np.int32),
            "cuts": _cuts(shares[of_split], starts, below),
        }

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Return the plan, which all sources share."""
        return next((memory for memory in memories if memory), {})


def _cuts(
    parts: NDArray[np.float64], starts: NDArray[np.int64], below: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the cumulative shares of each split key; the last share of each key is 1."""
    lengths = np.diff(starts)
    before = np.repeat(below[starts[:-1]], lengths)
    whole = np.repeat(below[starts[1:]] - below[starts[:-1]], lengths)
    cuts: NDArray[np.float64] = (below[1:] - before) / whole if len(parts) else parts
    cuts[starts[1:] - 1] = 1.0
    return cuts


class _PromptRouter(Router):
    local_fields: ClassVar[tuple[str, ...]] = ("dealt",)

    def __init__(self, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self._offset = source * _SOURCES_APART % 1.0
        self._follow(
            {
                "items": np.empty(0, dtype=PLACE),
                "starts": np.zeros(1, dtype=np.int64),
                "places": np.empty(0, dtype=np.int32),
                "cuts": np.empty(0),
            }
        )

    def _follow(self, plan: Snapshot) -> None:
        items, starts = plan["items"].astype(PLACE), plan["starts"].astype(np.int64)
        places, cuts = plan["places"].astype(np.int32), plan["cuts"].astype(np.float64)
        split = len(starts) - 1
        check_read(
            sound=split >= 0
            and starts[0] == 0
            and starts[-1] == len(places)
            and bool((np.diff(starts) > 0).all())
            and cuts.shape == places.shape
            and within(places, 0, self.workers - 1)
            and within(items["place"], 0, self.workers + split - 1)
        )
        self._table, self._split = table_of(items), (starts, places, cuts)
        self._dealt = np.zeros(split, dtype=np.int64)

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del times, weights
        from evenkey.papers.peers import _kernels

        _kernels.deal(
            keys, self.workers, self._table, self._split, self._dealt, self._offset, workers
        )

    def _plan(self) -> Snapshot:
        starts, places, cuts = (each.copy() for each in self._split)
        items = np.sort(items_of(self._table), order="key")
        return {"items": items, "starts": starts, "places": places, "cuts": cuts}

    def snapshot(self) -> Snapshot:
        return {**self._plan(), "dealt": self._dealt.copy()}

    def restore(self, snapshot: Snapshot) -> None:
        if "items" in snapshot:
            self._follow(snapshot)
        # The counters can belong to another plan's split keys: then they cannot be used.
        if len(snapshot["dealt"]) == len(self._dealt):
            self._dealt = snapshot["dealt"].astype(np.int64)

    def memory(self) -> Snapshot:
        plan = self._plan()
        return plan if len(plan["items"]) else {}

    def remember(self, memory: Snapshot) -> None:
        if memory:
            self._follow(memory)
