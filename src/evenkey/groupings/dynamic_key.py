"""Dynamic key grouping: hot keys spread over as many workers as their load needs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from evenkey.core.checking import check_fields
from evenkey.core.errors import ConfigurationError
from evenkey.core.event_clock import FAR, in_step
from evenkey.groupings.base import Grouping, LocalLoadRouter, Router, Snapshot
from evenkey.groupings.key_space import ITEM, KeySpace, moved
from evenkey.groupings.tables.key_table import check_read, items_of, table_of, within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_MOST_CYCLES = 1000
_REFERENCE_POOLS = 10_000

_HOT = np.dtype(
    [
        ("key", np.uint64),
        ("count", np.int64),
        ("seen", np.float64),
        ("order", np.uint32),
        ("pool", np.uint16),
        ("space", np.int8),
    ],
    align=True,
)
"""The fields of an `ITEM` that are used for every message. A record has 32 bytes, so two records
fit into a cache line. `order` starts again at 0 after 2**32 keys, which is harmless because it only
breaks ties."""
_MOST_POOL = int(np.iinfo(_HOT["pool"]).max)


@dataclass(frozen=True)
class DynamicKeyGrouping(Grouping):
    """Dynamic key grouping (``dkg``): a pool of neighbouring workers for each key.

    The pool of a key with c workers is ``home, home + 1, ..., home + c - 1 (mod W)`` with
    ``home = H(key) mod W`` (equation 5). A message goes to the least loaded worker of the pool, in
    ties to the first. The load of a worker is the percentage of this source's messages that went to
    it. The ideal load is ``L = 100 / W`` (equation 3). A pool grows by one worker if four
    conditions are met (algorithms 4 and 5): the load of its least loaded worker is at least
    ``L + sqrt(L)`` (equation 4); the key is in the old space; warm-up has passed; and the next
    worker on the ring is strictly less loaded. A pool shrinks by one worker if it is larger than
    `initial_pool` and at least two of its workers are below the scale-in threshold (algorithm 6).
    The generational key space decides which keys are in the old space (section 4.1). A new key
    starts in the baby space. A key that occurs more often than keys in the teenage space is
    promoted to that space, and from there in the same way to the old space.

    Guarantee: none is proven. By design, if keys and pools allow it, the maximum load settles at
    ``1 + 1/sqrt(L)`` times the mean load: 1.316, 1.707 and 2.0 times for W = 10, 50 and 100.

    Parameters
    ----------
    variant
        ``paper``: as in the paper. ``reference``: as in the public implementation. With
        ``reference``, loads are counted in whole percents, a key is checked once a minute, and a
        check shrinks a pool by at most one worker. A key that is only as frequent as the key that
        it would replace is not promoted. A pool can grow to all workers, and a key that returns
        gets its last pool back.
    initial_pool
        Number of workers in the pool of a new key.
    warm_up
        Seconds after the first message during which no pool grows.
    teenage_period
        Seconds between promotions to the teenage space. A promotion cycle runs at the first message
        and then every `teenage_period` seconds.
    old_period
        Seconds between promotions to the old space, a multiple of `teenage_period`. Every
        ``old_period / teenage_period``-th cycle also promotes keys to the old space. With the
        defaults, every fourth cycle does so, for the first time 45 s after the first message.
    expected_keys
        Expected number of distinct keys; it determines the sizes of the three spaces.
    old_share
        Size of the old space as a share of `expected_keys`. This share and the next two add up
        to 1.
    teenage_share
        Size of the teenage space as a share of `expected_keys`.
    baby_share
        Size of the baby space as a share of `expected_keys`.
    scale_out
        Scale-out threshold in percent; None: ``L + sqrt(L)``.
    scale_in
        Scale-in threshold. ``scale-out``: the same as the scale-out threshold (algorithm 6).
        ``minus-root``: ``L - sqrt(L)``, as in the documentation of the public implementation.
    check_interval
        Seconds between scaling checks of a key; None: 0 for ``paper``, 60 for ``reference``.
    idle_eviction
        A key that was not seen for more than this number of seconds is dropped. None: 3600 for
        ``paper``; with ``reference``, keys are never dropped for this reason.
    largest_pool
        Maximum number of workers in a pool. None: ``floor(100 / (L + sqrt(L))) + 1`` for ``paper``
        (Table 1), all workers for ``reference``.
    kept_pools
        Maximum number of keys that have left the spaces but whose grown pools are remembered in
        case the keys return. If there are more such keys, those seen last are remembered. None: 0
        for ``paper``, 10,000 for ``reference`` (the public implementation remembers all).

    Examples
    --------
    >>> import numpy as np
    >>> keys, times = np.full(6, 7, dtype=np.uint64), np.arange(6.0)
    >>> DynamicKeyGrouping().router(workers=5).route(keys, times).tolist()
    [2, 3, 2, 3, 2, 3]
    >>> DynamicKeyGrouping().thresholds(10)
    (13.16227766016838, 13.16227766016838)

    >>> DynamicKeyGrouping().most_workers(10), DynamicKeyGrouping().key_space().old
    (8, 10)
    """

    name: ClassVar[str] = "dkg"
    compiled: ClassVar[bool] = True
    uses_times: ClassVar[bool] = True
    learns: ClassVar[bool] = True

    variant: Literal["paper", "reference"] = "paper"
    initial_pool: int = 2
    warm_up: float = 15.0
    teenage_period: float = 15.0
    old_period: float = 60.0
    expected_keys: int = 100
    old_share: float = 0.1
    teenage_share: float = 0.4
    baby_share: float = 0.5
    scale_out: float | None = None
    scale_in: Literal["scale-out", "minus-root"] = "scale-out"
    check_interval: float | None = None
    idle_eviction: float | None = None
    largest_pool: int | None = None
    kept_pools: int | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        at_least = {
            "initial_pool": 1,
            "expected_keys": 1,
            "largest_pool": self.initial_pool,
            "warm_up": 0,
            "old_share": 0,
            "teenage_share": 0,
            "baby_share": 0,
            "scale_out": 0,
            "check_interval": 0,
            "idle_eviction": 0,
            "kept_pools": 0,
        }
        for field, least in at_least.items():
            value = getattr(self, field)
            if value is not None and not value >= least:
                message = f"dkg: {field} = {value}: must be at least {least}"
                raise ConfigurationError(message)
        shares = self.old_share + self.teenage_share + self.baby_share
        if not math.isclose(shares, 1.0, abs_tol=1e-9):
            message = f"dkg: the shares of the three spaces add up to {shares:g}; make their sum 1"
            raise ConfigurationError(message)
        if not self.teenage_period > 0:
            message = f"dkg: teenage_period = {self.teenage_period:g}: must be above 0 seconds"
            raise ConfigurationError(message)
        cycles = self.old_period / self.teenage_period
        if cycles < 1 or not math.isclose(cycles, round(cycles)):
            message = (
                f"dkg: old_period = {self.old_period:g}: must be a multiple of "
                f"teenage_period = {self.teenage_period:g}"
            )
            raise ConfigurationError(message)

    def thresholds(self, workers: int) -> tuple[float, float]:
        """Return the scale-out and scale-in threshold for a number of workers, in percent."""
        ideal = 100 / workers
        scale_out = ideal + math.sqrt(ideal) if self.scale_out is None else self.scale_out
        scale_in = scale_out if self.scale_in == "scale-out" else ideal - math.sqrt(ideal)
        if self.variant == "reference":
            return float(math.trunc(scale_out)), float(math.trunc(scale_in))
        return scale_out, scale_in

    def most_workers(self, workers: int) -> int:
        """Return the maximum size of a key's pool (Table 1) for a number of workers."""
        if self.largest_pool is not None:
            return min(self.largest_pool, workers)
        if self.variant == "reference":
            return workers
        ideal = 100 / workers
        return min(workers, math.floor(100 / (ideal + math.sqrt(ideal))) + 1)

    def key_space(self) -> KeySpace:
        """Make a key space with the sizes and rules that these parameters define."""
        as_reference = self.variant == "reference"
        whole = math.trunc if as_reference else round
        forgets = math.inf if as_reference else 3600.0
        pools = _REFERENCE_POOLS if as_reference else 0
        return KeySpace(
            baby=whole(self.expected_keys * self.baby_share),
            teenage=whole(self.expected_keys * self.teenage_share),
            old=whole(self.expected_keys * self.old_share),
            as_reference=as_reference,
            idle_eviction=forgets if self.idle_eviction is None else self.idle_eviction,
            first_pool=self.initial_pool,
            kept_pools=pools if self.kept_pools is None else self.kept_pools,
        )

    def _router(self, workers: int, source: int) -> Router:
        return _DynamicKeyRouter(self, workers, source)

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Merge the key spaces of all sources, and the times of their promotion cycles.

        A source is in step if the time of its next cycle differs from the median of all sources by
        at most one `teenage_period`. In the merged memory, the next cycle is at the latest time at
        which a source in step has its next cycle. If a source is not in step, all its times are
        shifted so that its next cycle is at this time too.
        """
        memories = [memory for memory in memories if memory]
        if not memories:
            return {}
        clocks = np.array([memory["clock"] for memory in memories])
        steady = in_step(clocks[:, 1], self.teenage_period)
        _, next_cycle, cycles = clocks[np.argmax(np.where(steady, clocks[:, 1], -np.inf))]
        moves = np.where(steady, 0.0, next_cycle - clocks[:, 1])
        items = [
            memory["items"] if keeps else moved(memory["items"], by)
            for memory, keeps, by in zip(memories, steady, moves, strict=True)
        ]
        return {
            "items": self.key_space().merge(items),
            "clock": np.array([(clocks[:, 0] + moves).min(), next_cycle, cycles]),
        }


class _DynamicKeyRouter(LocalLoadRouter):
    needs_times: ClassVar[bool] = True

    def __init__(self, grouping: DynamicKeyGrouping, workers: int, source: int) -> None:
        super().__init__(workers, source)
        self._space = grouping.key_space()
        self._period = grouping.teenage_period
        self._cycles_to_old = round(grouping.old_period / grouping.teenage_period)
        interval = grouping.check_interval
        if interval is None:
            interval = 60.0 if grouping.variant == "reference" else 0.0
        self._paced = interval > 0
        initial_pool = min(grouping.initial_pool, workers, _MOST_POOL)
        self._rules = (
            *grouping.thresholds(workers),
            grouping.warm_up,
            interval,
            initial_pool,
            min(max(grouping.most_workers(workers), initial_pool), _MOST_POOL),
            grouping.variant == "reference",
            grouping.variant == "paper",
            self._period + FAR,
        )
        # Time of the first message and of the next cycle (NaN until a message comes); cycles so
        # far.
        self._clock = np.array([np.nan, np.nan, 0.0])
        self._latest: float | None = None
        self._tally = np.zeros(3, dtype=np.int64)
        self._hold(np.empty(0, dtype=ITEM))

    def _route(
        self,
        keys: NDArray[np.uint64],
        times: NDArray[np.float64],
        weights: NDArray[np.int64],
        workers: NDArray[np.int32],
    ) -> None:
        from evenkey.groupings import _kernels

        if np.isnan(self._clock[0]):
            # The first cycle is due immediately. All spaces are empty, so it changes nothing.
            self._clock = np.array([times[0], times[0] + self._period, 1.0])
        self._latest = float(times[-1])
        done = 0
        while True:
            done = _kernels.dynamic_key(
                keys,
                times,
                weights,
                done,
                self._clock,
                self._tally,
                self._table,
                self._checked,
                self.sent,
                self._rules,
                workers,
            )
            if done == len(keys):
                return
            if times[done] >= self._clock[1]:
                self._promote(times[done])
            elif times[done] < self._clock[1] - self._rules[-1]:
                self._set_clock(times[done] + self._period)
            else:
                self._hold(self._items(), slots=2 * len(self._table))

    @property
    def now(self) -> float:
        """Time of the last promotion cycle, in seconds; 0 before the first message."""
        return 0.0 if np.isnan(self._clock[0]) else float(self._clock[1] - self._period)

    def _promote(self, now: float) -> None:
        """Run the promotion cycles that are due; after a gap of over 1,000 cycles, run only one.

        The cause of such a gap may be a wrong clock, so keys do not age during the gap.
        """
        if now - self._clock[1] > _MOST_CYCLES * self._period:
            self._set_clock(now)
        _, cycle_time, cycles = self._clock
        items = self._items()
        # Until the next cycle, probably as many keys come: a table of this size need not grow.
        slots = len(self._table) if 8 * len(items) > len(self._table) else len(self._table) // 2
        while cycle_time <= now:
            cycles += 1
            to_old = cycles % self._cycles_to_old == 0
            if len(items):
                items = self._space.cycle(items, cycle_time, to_old=to_old)
            cycle_time += self._period
        self._clock[1:] = cycle_time, cycles
        self._hold(items, slots=slots)

    def _set_clock(self, next_cycle: float) -> None:
        """Move the clock so that the next cycle is at `next_cycle`; keys keep their ages."""
        by = next_cycle - self._clock[1]
        self._hold(moved(self._items(), by), slots=len(self._table))
        first = min(self._clock[0] + by, next_cycle)
        self._clock = np.array([first, next_cycle, self._clock[2]])

    def _items(self) -> NDArray[np.void]:
        hot = items_of(self._table)
        items = np.zeros(len(hot), dtype=ITEM)
        for name in _HOT.names or ():
            items[name] = hot[name]
        items["checked"] = self._checked[self._table["count"] != 0] if self._paced else -np.inf
        return items

    def _hold(self, items: NDArray[np.void], slots: int = 0) -> None:
        hot = np.zeros(len(items), dtype=_HOT)
        for name in _HOT.names or ():
            hot[name] = items[name]
        self._table = table_of(hot, slots)
        self._checked = np.empty(len(self._table) if self._paced else 0)
        if self._paced:
            from evenkey.groupings import _kernels

            self._checked[_kernels.slots_of(self._table, hot)] = items["checked"]
        self._tally[1] = len(items)

    def snapshot(self) -> Snapshot:
        items = self._items()
        return {
            **super().snapshot(),
            "items": items[np.argsort(items["order"])],
            "clock": self._clock.copy(),
            "tally": self._tally.copy(),
        }

    def restore(self, snapshot: Snapshot) -> None:
        super().restore(snapshot)
        self._tally[0] = self.sent.sum()
        if "items" in snapshot:
            self._take_over(snapshot)
            self._tally[2] = snapshot["tally"][2]

    def memory(self) -> Snapshot:
        if np.isnan(self._clock[0]):
            return {}
        items, clock = self._space.cut(self._items()), self._clock.copy()
        if self._latest is not None:
            # If the clock stayed ahead of all messages of the epoch, no cycle would run until
            # messages reach it.
            clock[:2] = np.minimum(clock[:2], (self._latest, self._latest + self._period))
            for field in ("seen", "checked"):
                items[field] = np.minimum(items[field], self._latest)
        return {"items": items, "clock": clock}

    def remember(self, memory: Snapshot) -> None:
        if memory:
            self._take_over(memory)
            self._tally[2] = memory["items"]["order"].max(initial=-1) + 1

    def _take_over(self, state: Snapshot) -> None:
        items, clock = state["items"].astype(ITEM), state["clock"].astype(np.float64)
        check_read(
            sound=within(items["pool"], 1, min(self.workers, _MOST_POOL))
            and clock.shape == self._clock.shape
        )
        self._clock = clock
        self._hold(items)
