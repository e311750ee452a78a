"""Planned grouping: plan once per epoch where keys go, from their numbers of messages."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from evenkey.core.checking import check_fields, check_workers, whole_number
from evenkey.core.errors import ConfigurationError
from evenkey.groupings.base import Grouping, Router, Snapshot
from evenkey.groupings.planned.capacities import Capacities
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
_TRACKED_PER_WORKER = 64
_LEAST_TRACKED = 1024
_WIDER = (0.02, 0.04, 0.06)
"""Tolerances for few keys, of which each split increases replication visibly."""
_BALANCED = 1.05
_NEAR_LEAST = 1.05
"""(worker, key) pairs, over the least that hot keys need, that do not justify tolerance."""
_FEW_A_WORKER = 320
"""Unexpected hot keys added at most 32 pairs per worker: a tenth of so many keys."""
_HEAVY_A_WORKER = 16
_LEAST_SLACK, _MORE_SLACK, _MOST_SLACK = 0.03, 0.01, 0.06
"""With up to `_FEW_WORKERS`, for each further one, and at most."""
_FEW_WORKERS = 10


@dataclass(frozen=True)
class PlannedGrouping(Grouping):
    """Planned grouping (``planned``): one placement of all keys per epoch.

    The keys' hashes fall into B buckets, and the hottest keys are tracked individually. The plan
    (`evenkey.groupings.planned.make_plan`) assigns every bucket and every hot key to one worker,
    except keys that exceed one worker: these are split over as many as they need, in exact
    shares. All workers get the same load, and a key is on one worker unless it must be split.
    Messages of a split key are assigned by the golden ratio: message n of the key goes where
    ``n * 0.618... + offset of the source (mod 1)`` falls among its shares laid end to end, so
    that each share deviates by a few messages, however many there are.

    Guarantee: in an epoch of the frequencies that the plan was made for, no worker has more than
    ``(1 + tolerance + stickiness)`` times its fair load and the heaviest bucket, and there are at
    most W - 1 (worker, key) pairs more than keys. An epoch that is a fresh sample of the same
    frequencies adds sampling noise, of about ``sqrt(2 W / messages)`` relative to the mean load.
    Keys that come more often than planned are spread within the epoch, by the source's own counts:
    none of their messages goes to a worker that the source has sent more than ``1 + slack`` times
    its fair share and 8 messages, while another has less (`docs/planned-reference.md`).
    Source: the wrap-around rule of McNaughton (Management Science 6, 1959) for the hot keys, bin
    packing for the rest; planning by micro-batch as in Prompt (SIGMOD 2020).

    Parameters
    ----------
    planning
        What plans are made from. ``previous``: earlier epochs. ``current``: the epoch itself,
        which is counted before it is routed. ``auto``: ``previous``, but ``current`` while there
        are no statistics, and after an epoch whose imbalance shows that they are stale, until a
        plan from earlier epochs would have been balanced. ``fit``: one plan, made from a sample,
        permanently.
    buckets
        Number of buckets, a power of two; None: at least 64 per worker.
    tracked
        Number of hot keys that are tracked individually; None: 64 per worker, at least 1024.
    tolerance
        How far above its fair load a plan fills a worker.
    stickiness
        How much further keys that stay where they were in the previous plan fill it.
    decay
        Weight of earlier epochs relative to the last one: their counts are scaled by it once per
        epoch, so that keys that are no longer hot are forgotten.
    stale
        Imbalance, ``max / mean - 1``, from which on an epoch's statistics are stale; what sampling
        noise explains is allowed in addition. Stale statistics are dropped.
    surprise
        How much more often than planned a key must come to be surprising; None: no key is.
    slack
        How far above its fair load a worker may be before surprising cold keys leave it; hot ones
        leave it from its fair load on. None: 0.03 with up to 10 workers, 0.01 more with each
        further one, 0.06 from 13 on: with more workers, balance costs more replication.
    even_keys
        Whether to balance the number of distinct keys per worker too. In the plan of a counted
        epoch, the keys in a worker's buckets are at most 1.02 times the mean, or the mean plus the
        bucket with most keys. Keys from 1/16 of a worker's load on are placed individually, so
        there are few of these. If keys were not counted first, the randomness of hashes adds about
        ``4 sqrt(keys / W)``.
    capacities
        Capacity of each worker, such as ``2:1:1``; None: all equal.

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

    Sizes that are not given follow from the number of workers; workers may differ.

    >>> auto = PlannedGrouping(capacities="2:1")
    >>> auto.bucket_count(2), auto.surprise_slack(12), auto.worker_capacities(2).tolist()
    (128, 0.05, [2.0, 1.0])
    >>> auto.learns_epochs, auto.spreads_surprises
    (True, True)

    A plan from statistics gives the planned load of each worker. Statistics are of this epoch, of
    other epochs, or of one that has ended.

    >>> statistics = grouping.statistics(workers=2)
    >>> statistics.add_counted(np.array([7, 8, 9], np.uint64), np.array([6.0, 1.0, 1.0]))
    >>> grouping.plan_of(statistics, workers=2).loads.round(2).tolist()
    [3.98, 4.02]
    >>> ahead = grouping.plan_ahead(statistics, workers=2, memory={})
    >>> others = grouping.fitted(statistics, workers=2, memory=ahead, of_messages=True)
    >>> ended = grouping.learned(others, statistics, workers=2)

    Or they are of each worker's keys:

    >>> from evenkey.groupings.planned.exact_counts import KeyCounts
    >>> held = {0: KeyCounts.of(np.array([7], np.uint64), np.array([9.0]), statistics)}
    >>> learned = grouping.learned_of_workers(ended, held, workers=2)
    """

    name: ClassVar[str] = "planned"
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
            message = f"planned: tracked = {self.tracked}: at least 1 key must be tracked"
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
        """Give the number of buckets for so many workers, a power of two."""
        if self.buckets is not None:
            return self.buckets
        return 1 << (_BUCKETS_PER_WORKER * workers - 1).bit_length()

    def surprise_slack(self, workers: int) -> float:
        """Give `slack`, or the one for so many workers."""
        if self.slack is not None:
            return self.slack
        return min(_MOST_SLACK, _LEAST_SLACK + _MORE_SLACK * max(0, workers - _FEW_WORKERS))

    def worker_capacities(self, workers: int) -> NDArray[np.float64]:
        """Give the capacity of each worker.

        Raises
        ------
        ConfigurationError
            There are not as many capacities as workers.
        """
        return np.ones(workers) if self.capacities is None else self.capacities.of(workers)

    def statistics(self, workers: int) -> KeyStatistics:
        """Make empty statistics of the size for so many workers."""
        tracked = self.tracked or max(_LEAST_TRACKED, _TRACKED_PER_WORKER * workers)
        return KeyStatistics(tracked, self.bucket_count(workers))

    def _router(self, workers: int, source: int) -> Router:
        return self._planned_router(workers, source, learning=self.learns_epochs)

    def follower(self, workers: int, source: int = 0) -> Router:
        """Make a router that does not count for later plans: the workers count instead."""
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
        """Say whether the next epoch is to be counted, and planned, before it is routed.

        Parameters
        ----------
        memory
            What `merge_memories` or `plan` gave for the previous epoch; empty if there was none.
        """
        if self.planning == "auto":
            return not memory or self._is_stale(memory) or self._few_keys(memory)
        return self.planning == "current" or (self.planning == "fit" and not memory)

    def plan(self, keys: NDArray[np.uint64], counts: NDArray[np.float64], workers: int) -> Snapshot:
        """Make a plan of keys that were counted or whose costs were summed."""
        return self.replan(keys, counts, workers, {})

    def replan(
        self,
        keys: NDArray[np.uint64],
        counts: NDArray[np.float64],
        workers: int,
        memory: Snapshot,
    ) -> Snapshot:
        """Make a plan that keeps the places of the previous one if balance allows it."""
        statistics = self.statistics(workers)
        statistics.add_counted(np.asarray(keys, np.uint64), np.asarray(counts, np.float64))
        return self.plan_ahead(statistics, workers, memory)

    def plan_ahead(self, statistics: KeyStatistics, workers: int, memory: Snapshot) -> Snapshot:
        """Plan an epoch that was counted first, from its own statistics.

        The loads that the previous plan would have given are kept with the plan: `learned` uses
        them to decide whether statistics of earlier epochs are valid again.
        """
        before = Plan.from_arrays(memory) if memory else None
        plan = self.plan_of(statistics, workers, before).to_arrays() | COUNTED
        return plan if before is None else {**plan, "past_sent": _sent(before, statistics)}

    def fitted(
        self, statistics: KeyStatistics, workers: int, memory: Snapshot, *, of_messages: bool
    ) -> Snapshot:
        """Plan other epochs from a sample, or from costs, near the previous plan.

        Parameters
        ----------
        statistics
            Of the sample.
        workers
            How many there are.
        memory
            The previous plan; empty if there is none.
        of_messages
            Whether messages were counted: then keys that come more often are surprising. A plan by
            costs is followed as it is, since its numbers of messages can differ by intent.
        """
        before = Plan.from_arrays(memory) if memory else None
        plan = self.plan_of(statistics, workers, before).to_arrays()
        return plan | (expectations(statistics) if of_messages else COUNTED)

    def plan_of(
        self, statistics: KeyStatistics, workers: int, previous: Plan | None = None
    ) -> Plan:
        """Make the plan for statistics, near the previous plan."""
        capacities = self.worker_capacities(workers)
        if self.even_keys:
            return self._balanced_keys_plan(statistics, capacities, previous)
        # Keys below the load of a mean bucket go with theirs: they cannot unbalance a worker.
        least = statistics.total / len(statistics.bucket_loads)
        items = statistics.items(least, None if previous is None else previous.keys)
        many = len(statistics.sketch.items()) == statistics.sketch.capacity
        for tolerance in (self.tolerance, *(each for each in _WIDER if each > self.tolerance)):
            plan = make_plan(
                *items, capacities, previous, tolerance=tolerance, stickiness=self.stickiness
            )
            if many or plan.extra_pairs <= self._worth(statistics, workers):
                break
        return plan

    def _balanced_keys_plan(
        self, statistics: KeyStatistics, capacities: NDArray[np.float64], previous: Plan | None
    ) -> Plan:
        """Make the plan that also balances the number of keys per worker."""
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
        """Give the pairs beyond one per key above which more tolerance pays."""
        loads = statistics.sketch.items()["count"]
        least = np.maximum(1.0, np.ceil(loads * workers / (_BALANCED * statistics.total))).sum()
        return float(_NEAR_LEAST * least - len(loads))

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Make the next epoch's plan from the counts of all sources.

        Statistics of earlier epochs are scaled by `decay`, or dropped if the epoch shows that
        they are stale. Without learning (``current``, ``fit``) the plan stays.
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
        # Surprising keys were moved, so only planned loads, not real ones, show a stale plan.
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
        """Make the next epoch's memory of an epoch's statistics.

        Parameters
        ----------
        memory
            What the epoch's routers remembered; empty if nothing.
        epoch
            What the epoch held.
        workers
            How many workers there are.
        sent
            int64[W], load of each worker in the epoch; None: its load under the plan. For an epoch
            that was planned from itself, the loads under the previous plan count instead.
        """
        plan = Plan.from_arrays(memory) if memory else unplanned(len(epoch.bucket_loads), workers)
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
        """Whether a plan is made from the epoch that it routes."""
        return self.planning == "current"

    @property
    def learns_epochs(self) -> bool:
        """Whether plans are made from epochs that have ended."""
        return self.planning in ("auto", "previous")

    @property
    def spreads_surprises(self) -> bool:
        """Whether routers spread surprising keys, since plans are of earlier epochs."""
        return self.surprise is not None and self.learns_epochs

    def learned_of_workers(
        self, memory: Snapshot, held: Mapping[int, KeyCounts], workers: int
    ) -> Snapshot:
        """Make the next epoch's memory of what its workers held.

        A key can be on any worker, or on several: its parts are added up. The sum is exact if the
        workers' counts list all parts (`KeyCounts`).

        Parameters
        ----------
        memory
            What the epoch was routed by; empty if nothing.
        held
            By worker; one that held nothing may be absent.
        workers
            How many workers there are.
        """
        if not self.learns_epochs or not held:
            return memory
        sent = np.zeros(workers, dtype=np.int64)
        for worker, counts in held.items():
            sent[worker] = round(counts.total)
        in_order = [held[worker] for worker in sorted(held)]
        keys, places = np.unique(
            np.concatenate([counts.keys for counts in in_order]), return_inverse=True
        )
        loads = np.bincount(places, np.concatenate([counts.loads for counts in in_order]))
        statistics = self.statistics(workers)
        statistics.add_counted(keys, loads.astype(np.float64))
        # With the load of colder keys, which are not listed.
        statistics.bucket_loads = np.sum([counts.bucket_loads for counts in in_order], axis=0)
        if loads.sum() < statistics.total:
            statistics.bucket_keys = None
        # Surprising keys were moved: loads do not show that the plan is stale.
        return self.learned(memory, statistics, workers, None if self.spreads_surprises else sent)

    def _few_keys(self, memory: Snapshot) -> bool:
        """Whether there are few keys per worker.

        Spreading surprising keys then adds much to replication, as each is a large part of them.
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
    """Load of each worker if a plan routes the counted keys, int64[W]."""
    return np.rint(plan.loads_of(*statistics.items(0.0))).astype(np.int64)


def planner_of(grouping: Grouping) -> PlannedGrouping | None:
    """Give the grouping itself if it is a planned grouping, else None.

    Examples
    --------
    >>> planner_of(PlannedGrouping())
    PlannedGrouping(...)
    """
    return grouping if isinstance(grouping, PlannedGrouping) else None
