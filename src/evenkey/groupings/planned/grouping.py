"""Planned grouping: once per epoch, plan the workers of all keys from their message counts."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from evenkey.core.capacities import Capacities
from evenkey.core.checking import check_fields, check_workers, whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.groupings.base import Grouping, Router, Snapshot
from evenkey.groupings.planned.plan import Plan, make_plan, unplanned
from evenkey.groupings.planned.router import PlannedRouter
from evenkey.groupings.planned.statistics import KeyStatistics
from evenkey.groupings.planned.surprise import COUNTED, SurpriseRules, expectations

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evenkey.groupings.planned.exact_counts import KeyCounts

Planning = Literal["auto", "previous", "current", "fit"]

_BUCKETS_PER_WORKER = 64
_MOST_BUCKETS = 1 << 19
"""Default maximum number of buckets. Spark's sketches count no more than a million."""
_TRACKED_PER_WORKER = 64
_LEAST_TRACKED = 1024
_WIDER = (0.02, 0.04, 0.06)
"""Larger tolerances to try if there are few keys, because each split key then adds visibly to
replication."""
_BALANCED = 1.05
_NEAR_LEAST = 1.05
"""A larger tolerance is tried only if the hot keys of a plan have more (worker, key) pairs than
this number times the least possible number of pairs."""
_FEW_A_WORKER = 320
"""Up to this many keys per worker, the keys of an epoch count as few. Unexpected hot keys added at
most 32 (worker, key) pairs per worker, which is a tenth of this number."""
_HEAVY_A_WORKER = 16
_LEAST_SLACK, _MORE_SLACK, _MOST_SLACK = 0.03, 0.01, 0.06
"""Default slack with up to `_FEW_WORKERS` workers, its increase per further worker, and its
maximum."""
_FEW_WORKERS = 10


@dataclass(frozen=True)
class PlannedGrouping(Grouping):
    """Planned grouping (``planned``): one placement of all keys per epoch.

    Keys are divided into B buckets by their hash, and the hottest keys are tracked individually.
    The plan assigns each bucket and each hot key to one worker. Only a key that is too hot for one
    worker is split, in exact shares, over as many workers as it needs. So all workers get the same
    load, and a key is on one worker unless it must be split.

    The shares of a split key divide the interval [0, 1) into one part per worker. Message n of the
    key goes to the worker whose part contains ``n * 0.618... + offset (mod 1)``, where each source
    has its own offset. The number 0.618... is the golden ratio less 1. Its multiples (mod 1) fill
    the interval so uniformly that each worker's count is within a few messages of its exact share,
    however many messages there are.

    Guarantee: if the key frequencies of an epoch are those of the plan, the load of each worker is
    at most ``(1 + tolerance + stickiness)`` times its fair load, plus the load of the heaviest
    bucket; and there are at most W - 1 more (worker, key) pairs than keys. The fair load of a
    worker is the part of the total load that is proportional to its capacity. An epoch that is a
    fresh sample of the same frequencies adds sampling noise of about ``sqrt(2 * W / messages)``,
    relative to the mean load. A key that occurs more often than planned is spread over several
    workers within the epoch. Each source does this by its own counts: if it has already sent a
    worker more than ``1 + slack`` times the worker's fair share plus 8 messages, it sends no
    message of such a key to this worker while another worker has less. The page "Planned grouping:
    parameters, bounds, measurements" has the details.

    Source: the wrap-around rule of McNaughton (Management Science 6, 1959) for the hot keys, bin
    packing for the rest; planning by micro-batch as in Prompt (SIGMOD 2020).

    Parameters
    ----------
    planning
        What the plan of an epoch is made from. ``previous``: earlier epochs. ``current``: the epoch
        itself, which is counted before it is routed. ``auto``: as ``previous``, but as ``current``
        in three cases: while there are no statistics; while there are few keys; and after an epoch
        whose imbalance shows that the statistics are stale, until a plan from earlier epochs would
        have been balanced. ``fit``: one permanent plan, made from a sample.
    buckets
        Number of buckets, a power of two; None: at least 64 per worker, but at most 524,288.
    tracked
        Number of hot keys that are tracked individually; None: 64 per worker, at least 1024.
    tolerance
        How far above its fair load a plan may fill a worker, as a share of the fair load.
    stickiness
        How much more load a worker may get through keys that were on it in the previous plan, as a
        share of its fair load. Keys leave a worker only if its load exceeds this bound.
    decay
        Weight of earlier epochs relative to the last epoch. Once per epoch, the counts of all
        earlier epochs are multiplied by this factor, so that keys that are no longer hot are
        forgotten.
    stale
        If the imbalance of an epoch, ``max / mean - 1``, exceeds this value, the statistics of
        earlier epochs are stale and are dropped. Imbalance that sampling noise explains does not
        count.
    surprise
        How much more often than planned a key must occur to be surprising; 0.1 means 10 % more
        often. None: no key is surprising.
    slack
        How far above its fair load a worker may be before surprising cold keys leave it, as a share
        of the fair load. Surprising hot keys leave a worker as soon as it has its fair load. None:
        0.03 with up to 10 workers, 0.01 more for each further worker, and at most 0.06. The default
        grows because balance costs more replication with more workers.
    even_keys
        Whether to balance also the number of distinct keys per worker. If the epoch was counted
        before it was planned, the buckets of a worker hold at most 1.02 times the mean number of
        keys, or the mean plus the keys of the largest bucket if that is more. If the epoch was not
        counted first, the randomness of hashes adds about ``4 * sqrt(keys / W)`` keys to this
        limit. Only keys with at least 1/16 of a worker's load are placed individually. These few
        keys are not counted in the limit.
    capacities
        Relative capacity of each worker, such as ``2:1:1``; None: all equal.

    Examples
    --------
    >>> import numpy as np
    >>> keys = np.array([7, 7, 8, 7, 9, 7, 7, 10], dtype=np.uint64)
    >>> grouping = PlannedGrouping(buckets=16)
    >>> router = grouping.router(workers=2)
    >>> router.route(keys).tolist()
    [1, 1, 0, 1, 1, 1, 1, 0]
    >>> router.remember(grouping.plan(*np.unique(keys, return_counts=True), workers=2))
    >>> router.route(keys).tolist()
    [1, 1, 0, 1, 0, 0, 1, 0]

    Sizes that are None depend on the number of workers. Workers can have different capacities.

    >>> auto = PlannedGrouping(capacities="2:1")
    >>> auto.bucket_count(2), auto.surprise_slack(12), auto.worker_capacities(2).tolist()
    (128, 0.05, [2.0, 1.0])
    >>> auto.learns_epochs, auto.spreads_surprises
    (True, True)

    A plan made from statistics contains the planned load of each worker. The statistics can be
    counted in the epoch to plan (`plan_ahead`), in a sample (`fitted`), or in an epoch that has
    ended (`learned`).

    >>> statistics = grouping.statistics(workers=2)
    >>> statistics.add_counted(np.array([7, 8, 9], np.uint64), np.array([6.0, 1.0, 1.0]))
    >>> grouping.plan_of(statistics, workers=2).loads.round(2).tolist()
    [3.98, 4.02]
    >>> ahead = grouping.plan_ahead(statistics, workers=2, memory={})
    >>> others = grouping.fitted(statistics, workers=2, memory=ahead, of_messages=True)
    >>> learned = grouping.learned(others, statistics, workers=2)
    """

    name: ClassVar[str] = "planned"
    compiled: ClassVar[bool] = True
    learns: ClassVar[bool] = True
    plans_epochs: ClassVar[bool] = True

    planning: Planning = "auto"
    buckets: int | None = None
    tracked: int | None = None
    tolerance: float = 0.005
    stickiness: float = 0.005
    decay: float = 0.5
    stale: float = 0.05
    surprise: float | None = 0.1
    slack: float | None = None
    even_keys: bool = False
    capacities: Capacities | None = None

    def __post_init__(self) -> None:
        check_fields(self)
        if self.buckets is not None and (self.buckets < 1 or self.buckets & (self.buckets - 1)):
            message = f"planned: buckets = {self.buckets}: must be a power of two, such as 1024"
            raise ConfigurationError(message)
        if self.tracked is not None and self.tracked < 1:
            message = f"planned: tracked = {self.tracked}: must be at least 1 key"
            raise ConfigurationError(message)
        for field in ("tolerance", "stickiness", "decay", "stale", "surprise", "slack"):
            value = getattr(self, field)
            if field in ("surprise", "slack") and value is None:
                continue
            if not 0 <= value < math.inf:
                message = f"planned: {field} = {value}: must be at least 0"
                raise ConfigurationError(message)
        if self.decay > 1:
            message = f"planned: decay = {self.decay}: must be at most 1"
            raise ConfigurationError(message)
        if self.capacities is not None:
            object.__setattr__(self, "capacities", Capacities(self.capacities))

    def bucket_count(self, workers: int) -> int:
        """Return the number of buckets for a number of workers, a power of two."""
        if self.buckets is not None:
            return self.buckets
        return min(1 << (_BUCKETS_PER_WORKER * workers - 1).bit_length(), _MOST_BUCKETS)

    def surprise_slack(self, workers: int) -> float:
        """Return `slack` or, if it is None, its default for a number of workers."""
        if self.slack is not None:
            return self.slack
        return min(_MOST_SLACK, _LEAST_SLACK + _MORE_SLACK * max(0, workers - _FEW_WORKERS))

    def worker_capacities(self, workers: int) -> NDArray[np.float64]:
        """Return the capacity of each worker, float64[W].

        Raises
        ------
        ConfigurationError
            There is not one capacity per worker.
        """
        return np.ones(workers) if self.capacities is None else self.capacities.of(workers)

    def statistics(self, workers: int) -> KeyStatistics:
        """Make empty statistics, sized for a number of workers."""
        tracked = self.tracked or max(_LEAST_TRACKED, _TRACKED_PER_WORKER * workers)
        return KeyStatistics(tracked, self.bucket_count(workers))

    def _router(self, workers: int, source: int) -> Router:
        return self._planned_router(workers, source, learning=self.learns_epochs)

    def follower(self, workers: int, source: int = 0) -> Router:
        """Make a router that does not count keys for later plans: the workers count them."""
        check_workers(workers)
        whole_number("source", source, 0)
        return self._planned_router(workers, source, learning=False)

    def _planned_router(self, workers: int, source: int, *, learning: bool) -> Router:
        statistics = self.statistics(workers)
        plan = unplanned(self.bucket_count(workers), workers)
        rules = None
        if self.surprise is not None:
            rules = SurpriseRules(self.surprise, self.surprise_slack(workers))
        return PlannedRouter(
            plan,
            source,
            statistics,
            learning=learning,
            capacities=self.worker_capacities(workers),
            rules=rules,
        )

    def counts_first(self, memory: Snapshot) -> bool:
        """Return whether the next epoch must be counted and planned before it is routed.

        Parameters
        ----------
        memory
            What `merge_memories` or `plan` returned for the previous epoch; empty if there was
            none.
        """
        if self.planning == "auto":
            return not memory or self._is_stale(memory) or self._few_keys(memory)
        return self.planning == "current" or (self.planning == "fit" and not memory)

    def plan(self, keys: NDArray[np.uint64], counts: NDArray[np.float64], workers: int) -> Snapshot:
        """Make a plan from the load of each key: its number of messages, or its total cost."""
        return self.replan(keys, counts, workers, {})

    def replan(
        self,
        keys: NDArray[np.uint64],
        counts: NDArray[np.float64],
        workers: int,
        memory: Snapshot,
    ) -> Snapshot:
        """Make a plan that leaves keys on their previous workers if balance allows it."""
        statistics = self.statistics(workers)
        statistics.add_counted(np.asarray(keys, np.uint64), np.asarray(counts, np.float64))
        return self.plan_ahead(statistics, workers, memory)

    def plan_ahead(self, statistics: KeyStatistics, workers: int, memory: Snapshot) -> Snapshot:
        """Plan an epoch from its own statistics, which were counted before it is routed.

        The result also contains the load that each worker would have had in this epoch under the
        previous plan. From these loads, `learned` decides whether statistics of earlier epochs are
        valid again.
        """
        before = Plan.from_arrays(memory, workers) if memory else None
        plan = self.plan_of(statistics, workers, before).to_arrays() | COUNTED
        return plan if before is None else {**plan, "past_sent": _sent(before, statistics)}

    def fitted(
        self, statistics: KeyStatistics, workers: int, memory: Snapshot, *, of_messages: bool
    ) -> Snapshot:
        """Make a plan from a sample or from costs, with few changes from the previous plan.

        Parameters
        ----------
        statistics
            Statistics of the sample.
        workers
            Number of workers.
        memory
            The previous plan; empty if there is none.
        of_messages
            True: `statistics` counts messages, and a key that occurs more often than planned is
            surprising. False: `statistics` sums costs, and no key is surprising, because a plan by
            cost may give the workers different numbers of messages on purpose.
        """
        before = Plan.from_arrays(memory, workers) if memory else None
        plan = self.plan_of(statistics, workers, before).to_arrays()
        return plan | (expectations(statistics) if of_messages else COUNTED)

    def plan_of(
        self, statistics: KeyStatistics, workers: int, previous: Plan | None = None
    ) -> Plan:
        """Make a plan from statistics, with few changes from the previous plan."""
        capacities = self.worker_capacities(workers)
        if self.even_keys:
            return self._balanced_keys_plan(statistics, capacities, previous)
        # A key with less load than the mean bucket stays in its bucket: it cannot unbalance a
        # worker.
        least = statistics.total / len(statistics.bucket_loads)
        items = statistics.items(least, None if previous is None else previous.keys)

        def placed(before: Plan | None, tolerance: float) -> Plan:
            return make_plan(
                *items, capacities, before, tolerance=tolerance, stickiness=self.stickiness
            )

        if len(statistics.sketch.items()) == statistics.sketch.capacity:
            return placed(previous, self.tolerance)
        # The tolerance is the one with which a new plan splits few enough keys, so that a plan that
        # stays is as balanced as a new one.
        worth = self._worth(statistics, workers)
        for tolerance in (self.tolerance, *(each for each in _WIDER if each > self.tolerance)):
            plan = placed(None, tolerance)
            if plan.extra_pairs <= worth:
                break
        return plan if previous is None else placed(previous, tolerance)

    def _balanced_keys_plan(
        self, statistics: KeyStatistics, capacities: NDArray[np.float64], previous: Plan | None
    ) -> Plan:
        """Make a plan that also balances the number of keys per worker."""
        items = statistics.items(statistics.total / (_HEAVY_A_WORKER * len(capacities)))
        buckets = len(statistics.bucket_loads)
        counted = statistics.bucket_keys
        # Hashing puts about the same number of keys into every bucket.
        bucket_keys = np.ones(buckets) if counted is None else counted.astype(np.float64)
        return make_plan(
            *items,
            capacities,
            previous,
            tolerance=self.tolerance,
            stickiness=self.stickiness,
            bucket_keys=bucket_keys,
        )

    @staticmethod
    def _worth(statistics: KeyStatistics, workers: int) -> float:
        """Return the number of `Plan.extra_pairs` above which a larger tolerance is worthwhile."""
        loads = statistics.sketch.items()["count"]
        least = np.maximum(1.0, np.ceil(loads * workers / (_BALANCED * statistics.total))).sum()
        return float(_NEAR_LEAST * least - len(loads))

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Make the next epoch's plan from the counts of all sources.

        Statistics of earlier epochs are multiplied by `decay`, or dropped if this epoch shows that
        they are stale. With `planning` ``current`` or ``fit``, nothing is learned and the plan does
        not change.
        """
        memories = [memory for memory in memories if memory]
        if not memories:
            return {}
        first = memories[0]
        plan = Plan.from_arrays(first)
        sent = np.sum([memory["sent"] for memory in memories], axis=0)
        if "epoch_sketch" not in first:
            return {**plan.to_arrays(), **COUNTED, "sent": sent}
        statistics = KeyStatistics.from_arrays(first, "epoch")
        for memory in memories[1:]:
            statistics.merge(KeyStatistics.from_arrays(memory, "epoch"))
        # If surprising keys were moved, the real loads are balanced although the plan is stale.
        # Then only the loads under the plan show that it is stale.
        return self.learned(
            first, statistics, plan.workers, None if self.spreads_surprises else sent
        )

    def learned(
        self,
        memory: Snapshot,
        epoch: KeyStatistics,
        workers: int,
        sent: NDArray[np.int64] | None = None,
    ) -> Snapshot:
        """Make the memory for the next epoch from the statistics of an epoch.

        Parameters
        ----------
        memory
            Memory from which the routers of the epoch started; empty if there was none.
        epoch
            Statistics of the epoch.
        workers
            How many workers there are.
        sent
            int64[W], load of each worker in the epoch; None: the load of each worker under the
            plan. If the epoch was planned from its own statistics, the loads under the previous
            plan are used instead.
        """
        buckets = len(epoch.bucket_loads)
        plan = Plan.from_arrays(memory, workers, buckets) if memory else unplanned(buckets, workers)
        if "past_sent" in memory:
            sent = memory["past_sent"]
        merged = {"sent": _sent(plan, epoch) if sent is None else sent}
        if "past_sketch" in memory and self.decay and not self._is_stale(merged):
            past = KeyStatistics.from_arrays(memory, "past")
            past.decay(self.decay)
            epoch.merge(past)
        merged |= epoch.to_arrays("past")
        plan = self.plan_of(epoch, workers, plan)
        return {**merged, **expectations(epoch), **plan.to_arrays()}

    @property
    def counts_ahead(self) -> bool:
        """Whether each epoch is routed by a plan made from that epoch itself."""
        return self.planning == "current"

    @property
    def learns_epochs(self) -> bool:
        """Whether plans are made from epochs that have ended."""
        return self.planning in ("auto", "previous")

    @property
    def spreads_surprises(self) -> bool:
        """Whether routers spread surprising keys, because plans are made from earlier epochs."""
        return self.surprise is not None and self.learns_epochs

    def learned_of_workers(
        self, memory: Snapshot, held: Mapping[int, KeyCounts], workers: int
    ) -> Snapshot:
        """Make the memory for the next epoch from the keys that each worker held.

        If a key was on several workers, its parts are added up. The sum is exact if the counts of
        these workers list all parts. A worker lists at least as many of its hottest keys as plans
        track, so a part that is missing is less than 1/16384 of the worker's load.

        Parameters
        ----------
        memory
            Memory from which the epoch was routed; empty if there was none.
        held
            Counts of each worker; a worker that held nothing may be absent.
        workers
            How many workers there are.
        """
        if not self.learns_epochs or not held:
            return memory
        sent = np.zeros(workers, dtype=np.int64)
        for worker, counts in held.items():
            sent[worker] = round(counts.total)
        in_order = [held[worker] for worker in sorted(held)]
        statistics = self.statistics(workers)
        statistics.add_parts(
            [counts.keys for counts in in_order],
            [counts.loads for counts in in_order],
            np.sum([counts.bucket_loads for counts in in_order], axis=0),
        )
        # If surprising keys were moved, the real loads do not show that the plan is stale.
        return self.learned(memory, statistics, workers, None if self.spreads_surprises else sent)

    def _few_keys(self, memory: Snapshot) -> bool:
        """Return whether there are few keys per worker, so that the next epoch is counted first.

        With few keys, each key is a large part of all keys, so spreading surprising keys adds much
        to replication.
        """
        if self.surprise is None or "past_buckets" not in memory:
            return False
        few = _FEW_A_WORKER * len(memory["loads"])
        return KeyStatistics.from_arrays(memory, "past").distinct <= few

    def _is_stale(self, memory: Snapshot) -> bool:
        sent = memory.get("sent")
        if sent is None or not sent.any():
            return False
        capacities = self.worker_capacities(len(sent))
        fair = capacities / capacities.sum() * sent.sum()
        # The largest of W deviations lies within four standard deviations, each of sqrt(fair).
        limits = fair * (1 + self.stale) + 4 * np.sqrt(fair)
        return bool((sent > limits).any())


def _sent(plan: Plan, statistics: KeyStatistics) -> NDArray[np.int64]:
    """Compute the load that a plan gives to each worker for the counted keys, int64[W]."""
    return np.rint(plan.loads_of(*statistics.items(0.0))).astype(np.int64)


def planner_of(grouping: Grouping) -> PlannedGrouping | None:
    """Return the grouping itself if it is a planned grouping, else None.

    Examples
    --------
    >>> planner_of(PlannedGrouping())
    PlannedGrouping(...)
    """
    return grouping if isinstance(grouping, PlannedGrouping) else None
