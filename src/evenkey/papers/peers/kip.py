"""A partitioner that isolates hot keys: our reading of KIP."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from evenkey.core.checking import check_fields, check_workers
from evenkey.core.errors import ConfigurationError
from evenkey.core.sketches import SpaceSaving
from evenkey.groupings import Grouping, Router, Snapshot
from evenkey.groupings.tables import (
    PLACE,
    check_read,
    descending,
    items_of,
    on_least_loaded,
    table_of,
    within,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_LEAST_CAPACITY = 1000
_COUNTERS_A_KEY = 4


@dataclass(frozen=True)
class IsolatingGrouping(Grouping):
    """A key isolator (``kip``): our reading of the Key Isolator Partitioner.

    A histogram finds the hottest keys of the previous epoch. These keys are isolated: in descending
    order of load, each key goes as a whole to the worker with the least load so far. If several
    workers have this load, the key goes to the one with the lowest number. A weighted hash
    distributes all other keys over the remaining capacity of the workers. Let r be the load of the
    other keys, and l(w) the load of the isolated keys on worker w. The weight of worker w is
    ``max(0, L - l(w))``, where L is chosen so that the weights add up to r. The first epoch has no
    histogram, so all weights are equal.

    The number of isolated keys is our choice, and so is the SpaceSaving sketch as the histogram.
    State is not moved between workers. We make no claim about the figures of the original KIP.

    Guarantee: every key is on one worker within an epoch, so the maximum load is at least that of
    the hottest key.
    Source: Zvara and others, Dynamic Repartitioning, a module for Spark and Flink.

    Parameters
    ----------
    isolated
        Number of isolated keys per worker, at least 1.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 7, 8, 8, 9, 10, 11], dtype=np.uint64)
    >>> grouping = IsolatingGrouping(isolated=1)
    >>> router = grouping.router(workers=2)
    >>> router.remember(grouping.plan(*np.unique(keys, return_counts=True), workers=2))
    >>> router.route(np.array([7, 8], dtype=np.uint64)).tolist()
    [0, 1]

    >>> grouping.histogram(workers=2).capacity
    1000
    """

    name: ClassVar[str] = "kip"
    compiled: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    plans_epochs: ClassVar[bool] = True
    peer: ClassVar[bool] = True

    isolated: int = 4

    def __post_init__(self) -> None:
        check_fields(self)
        if self.isolated < 1:
            message = f"kip: isolated = {self.isolated}: must be at least 1 key per worker"
            raise ConfigurationError(message)

    def histogram(self, workers: int) -> SpaceSaving:
        """Return an empty histogram for a source."""
        return SpaceSaving(max(_LEAST_CAPACITY, _COUNTERS_A_KEY * self.isolated * workers))

    def _router(self, workers: int, source: int) -> Router:
        return _IsolatingRouter(self.histogram(workers), workers, source)

    def plan(self, keys: NDArray[np.uint64], counts: NDArray[np.float64], workers: int) -> Snapshot:
        """Isolate the hottest of the counted keys.

        Raises
        ------
        ConfigurationError
            `workers` is below 1, a count is below 0, or `counts` is not as long as `keys`.
        """
        check_workers(workers)
        hashes, loads = descending("kip", keys, counts)
        return self._isolate(hashes, loads, float(loads.sum()), workers)

    def _isolate(
        self,
        keys: NDArray[np.uint64],
        loads: NDArray[np.float64],
        total: float,
        workers: int,
    ) -> Snapshot:
        hottest = slice(self.isolated * workers)
        items, held_by = on_least_loaded(keys[hottest], loads[hottest], workers)
        weights = _fill_up(held_by, max(0.0, total - float(held_by.sum())))
        cuts = np.cumsum(weights)
        return {"items": np.sort(items, order="key"), "capacity": cuts / cuts[-1]}

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Plan the next epoch from the merged histograms of all sources."""
        sketches = [_sketch_of(memory) for memory in memories if "histogram" in memory]
        if not sketches:
            plan = next((memory for memory in memories if memory), {})
            return {name: plan[name] for name in plan if name != "workers"}
        merged = functools.reduce(SpaceSaving.merge, sketches)
        items = merged.items()
        certain = items["count"] - items["error"]
        keys, loads = descending("kip", items["key"], certain)
        workers = next(int(memory["workers"][0]) for memory in memories if "histogram" in memory)
        return self._isolate(keys, loads, merged.total, workers)


def _fill_up(loads: NDArray[np.float64], rest: float) -> NDArray[np.float64]:
    """Divide `rest` among the least loaded workers so that their loads become equal."""
    ascending = np.sort(loads)
    # Entry n - 1: the load of each of the n least loaded workers if these n workers took the rest.
    # The largest n is used for which none of the n workers already has more load than that.
    filled_to = (rest + np.cumsum(ascending)) / np.arange(1, len(loads) + 1)
    reached = np.flatnonzero(filled_to >= ascending)[-1]
    weights: NDArray[np.float64] = np.maximum(0.0, filled_to[reached] - loads)
    # If `rest` is 0, keys that are not isolated go to the least loaded workers.
    return weights if weights.any() else (loads == ascending[0]).astype(np.float64)


class _IsolatingRouter(Router):
    def __init__(self, histogram: SpaceSaving, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self._empty = histogram.to_bytes()
        self._follow({"items": np.empty(0, PLACE), "capacity": np.arange(1, workers + 1) / workers})
        self._planned = False

    def _follow(self, plan: Snapshot) -> None:
        items, capacity = plan["items"].astype(PLACE), plan["capacity"].astype(np.float64)
        check_read(
            sound=within(items["place"], 0, self.workers - 1) and capacity.shape == (self.workers,)
        )
        self._histogram = SpaceSaving.from_bytes(self._empty)
        self._table, self._capacity = table_of(items), capacity
        self._planned = True

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        del times
        from evenkey.papers.peers import _kernels

        _kernels.isolate(keys, self._table, self._capacity, workers)
        self._histogram.update(keys, weights if len(weights) else None)

    def snapshot(self) -> Snapshot:
        return self.memory()

    def restore(self, snapshot: Snapshot) -> None:
        if "items" in snapshot:
            self._follow(snapshot)
        if "histogram" in snapshot:
            self._histogram = _sketch_of(snapshot)

    def memory(self) -> Snapshot:
        memory: Snapshot = {}
        if self._planned:
            items = np.sort(items_of(self._table), order="key")
            memory = {"items": items, "capacity": self._capacity.copy()}
        if len(self._histogram):
            memory["histogram"] = np.frombuffer(self._histogram.to_bytes(), dtype=np.uint8)
            memory["workers"] = np.array([self.workers], dtype=np.int64)
        return memory

    def remember(self, memory: Snapshot) -> None:
        if memory:
            self._follow(memory)


def _sketch_of(memory: Snapshot) -> SpaceSaving:
    return SpaceSaving.from_bytes(memory["histogram"].tobytes())
