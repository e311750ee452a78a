"""Planned grouping: once an epoch, decide where keys go from how many messages they have."""

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
"""Tolerances for few keys, where each split of one adds visibly to replication."""
_LEVEL = 1.05
_NEAR_LEAST = 1.05
"""Pairs of worker and key, over the least that heavy keys ask for, that are not worth tolerance."""
_FEW_A_WORKER = 320
"""Up to 32 pairs a worker were seen that surprises add: a tenth of so many keys."""
_HEAVY_A_WORKER = 16
_LEAST_SLACK, _MORE_SLACK, _MOST_SLACK = 0.03, 0.01, 0.06
"""With up to `_FEW_WORKERS`, for each further one, and at most."""
_FEW_WORKERS = 10


@dataclass(frozen=True)
class PlannedGrouping(Grouping):
    """Planned grouping (``planned``): a plan of all keys' places, made once an epoch.

    The keys' hashes fall into B buckets, and the heaviest keys are known one by one. The plan
    (`evenkey.groupings.planned.make_plan`) gives every bucket and every heavy key to one worker,
    but for the keys that are too heavy for one: they are split over as many as they need, in
    exact shares. All workers end at one load, and a key lies on one worker unless it must not.
    Messages of a split key are dealt out by the golden ratio: message n of the key goes where
    ``n * 0.618... + offset of the source (mod 1)`` falls among its shares laid end to end, so
    that each share deviates by a few messages whatever their number.

    Guarantee: in an epoch of the frequencies that the plan was made for, no worker has more than
    ``(1 + tolerance + stickiness)`` times its fair load and the heaviest bucket, and there are at
    most W - 1 (worker, key) pairs more than keys. An epoch that is a fresh sample of the same
    frequencies adds sampling noise, of about ``sqrt(2 W / messages)`` relative to the mean load.
    Keys that come more often than planned are spread within the epoch, by what each source sees:
    none of their messages goes to a worker that the source has sent more than ``1 + slack`` times
    its fair share and 8 messages, while another has less (`docs/planned.md`).
    Source: the wrap-around rule of McNaughton (Management Science 6, 1959) for the heavy keys, bin
    packing for the rest; planning by micro-batch as in Prompt (SIGMOD 2020).

    Parameters
    ----------
    planning
        What plans are made from. ``previous``: the epochs before. ``current``: the epoch itself,
        which whoever routes counts first. ``auto``: ``previous``, but ``current`` while there
        are no statistics, after an epoch whose balance shows that they went stale, and from
        then on until a plan of the epochs before would have been level. ``fit``: one plan, made
        of a sample, for good.
    buckets
        Number of buckets, a power of two; None: at least 64 a worker.
    tracked
        Heavy keys that are counted one by one; None: 64 a worker, at least 1024.
    tolerance
        How far above its fair load a plan fills a worker.
    stickiness
        How much further by keys that stay where they were in the plan before.
    decay
        Weight of the epochs before against the last one: their counts are scaled by it once an
        epoch, which forgets keys that are hot no longer.
    stale
        Imbalance, ``max / mean - 1``, from which on an epoch shows that statistics went stale;
        what sampling explains is allowed on top. Stale statistics are dropped.
    surprise
        How much more often than planned a key must come to be surprising; None: no key is.
    slack
        How far above its fair load a worker may be before light keys that are surprising leave it;
        heavy ones leave it from its fair load on. None: 0.03 with up to 10 workers, 0.01 more with
        each further one, 0.06 from 13 on: the more there are, the more a level one costs.
    even_keys
        Whether workers are to hold equally many distinct keys too. By the plan of a counted epoch
        no worker has more keys in its buckets than 1.02 times the mean, or than the mean and the
        fullest bucket. Keys from 1/16 of a worker's load on are placed one by one beside them,
        so there are few of these. Where keys were not counted first, what hashes put there by
        chance comes on top: about ``4 sqrt(keys / W)``.
    capacities
        How much each worker can take, such as ``2:1:1``; None: all the same.

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

    Sizes follow from the number of workers, where they are not given; workers may differ.

    >>> auto = PlannedGrouping(capacities="2:1")
    >>> auto.bucket_count(2), auto.surprise_slack(12), auto.worker_capacities(2).tolist()
    (128, 0.05, [2.0, 1.0])
    >>> auto.learns_epochs, auto.spreads_surprises
    (True, True)

    A plan can be made of statistics, and says what each worker is to bear: of this epoch, of other
    epochs, or of one that has ended.

    >>> statistics = grouping.statistics(workers=2)
    >>> statistics.add_counted(np.array([7, 8, 9], np.uint64), np.array([6.0, 1.0, 1.0]))
    >>> grouping.plan_of(statistics, workers=2).loads.round(2).tolist()
    [3.98, 4.02]
    >>> ahead = grouping.plan_ahead(statistics, workers=2, memory={})
    >>> others = grouping.fitted(statistics, workers=2, memory=ahead, of_messages=True)
    >>> ended = grouping.learned(others, statistics, workers=2)

    Or of what each worker held, by key:

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
        """Make empty statistics of the sizes that so many workers ask for."""
        tracked = self.tracked or max(_LEAST_TRACKED, _TRACKED_PER_WORKER * workers)
        return KeyStatistics(tracked, self.bucket_count(workers))

    def _router(self, workers: int, source: int) -> Router:
        return self._planned_router(workers, source, learning=self.learns_epochs)

    def follower(self, workers: int, source: int = 0) -> Router:
        """Make a router that counts nothing for later plans: who holds the messages does."""
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
            What `merge_memories` or `plan` gave for the epoch before; empty if there was none.
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
        """Make a plan that keeps the places of the one before where balance allows it."""
        statistics = self.statistics(workers)
        statistics.add_counted(np.asarray(keys, np.uint64), np.asarray(counts, np.float64))
        return self.plan_ahead(statistics, workers, memory)

    def plan_ahead(self, statistics: KeyStatistics, workers: int, memory: Snapshot) -> Snapshot:
        """Plan an epoch that was counted first, from its own statistics.

        What the plan before would have made of it is kept beside the plan: by that `learned`
        says whether statistics of earlier epochs serve again.
        """
        before = Plan.from_arrays(memory) if memory else None
        plan = self.plan_of(statistics, workers, before).to_arrays() | COUNTED
        return plan if before is None else {**plan, "past_sent": _sent(before, statistics)}

    def fitted(
        self, statistics: KeyStatistics, workers: int, memory: Snapshot, *, of_messages: bool
    ) -> Snapshot:
        """Plan other epochs from a sample, or from costs, near to the plan before.

        Parameters
        ----------
        statistics
            Of the sample.
        workers
            How many there are.
        memory
            What was followed before; empty if nothing.
        of_messages
            Whether messages were counted: then keys that come more often will surprise the plan.
            A plan by costs is followed as it is, since it may ask for uneven numbers of messages.
        """
        before = Plan.from_arrays(memory) if memory else None
        plan = self.plan_of(statistics, workers, before).to_arrays()
        return plan | (expectations(statistics) if of_messages else COUNTED)

    def plan_of(
        self, statistics: KeyStatistics, workers: int, previous: Plan | None = None
    ) -> Plan:
        """Make the plan for statistics, near the plan before."""
        capacities = self.worker_capacities(workers)
        if self.even_keys:
            return self._even_plan(statistics, capacities, previous)
        # Keys lighter than a usual bucket go with theirs: they could not unbalance a worker.
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

    def _even_plan(
        self, statistics: KeyStatistics, capacities: NDArray[np.float64], previous: Plan | None
    ) -> Plan:
        """Make the plan that also gives workers equally many keys."""
        items = statistics.items(statistics.total / (_HEAVY_A_WORKER * len(capacities)))
        buckets = len(statistics.bucket_loads)
        counted = statistics.bucket_keys
        # Hashes put about as many keys into every bucket.
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
        """Pairs beyond one a key from which on tolerance is worth fewer of them."""
        loads = statistics.sketch.items()["count"]
        least = np.maximum(1.0, np.ceil(loads * workers / (_LEVEL * statistics.total))).sum()
        return float(_NEAR_LEAST * least - len(loads))

    def merge_memories(self, memories: Sequence[Snapshot]) -> Snapshot:
        """Make the next epoch's plan of what all sources counted.

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
        # Surprising keys went elsewhere: loads do not show that a plan is stale, what it would
        # have made of the epoch does.
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
            int64[W], load of each worker in the epoch; None: what the plan makes of `epoch`. Of an
            epoch that was planned from itself counts what the plan before would have made of it.
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
        """Whether a plan is made of the very epoch that it routes."""
        return self.planning == "current"

    @property
    def learns_epochs(self) -> bool:
        """Whether plans are made of epochs that have ended."""
        return self.planning in ("auto", "previous")

    @property
    def spreads_surprises(self) -> bool:
        """Whether routers spread keys that surprise: plans are of other epochs than they route."""
        return self.surprise is not None and self.learns_epochs

    def learned_of_workers(
        self, memory: Snapshot, held: Mapping[int, KeyCounts], workers: int
    ) -> Snapshot:
        """Make the next epoch's memory of what its workers held.

        A key may be on any worker, or on several: its parts are added up. It is exact as far as the
        workers' counts name all parts (`KeyCounts`).

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
        # With what lighter keys have, which are not named.
        statistics.bucket_loads = np.sum([counts.bucket_loads for counts in in_order], axis=0)
        if loads.sum() < statistics.total:
            statistics.bucket_keys = None
        # Surprising keys went elsewhere: loads do not show that the plan is stale.
        return self.learned(memory, statistics, workers, None if self.spreads_surprises else sent)

    def _few_keys(self, memory: Snapshot) -> bool:
        """Whether there are few keys a worker.

        To spread few keys that surprise adds much to replication, as each is a large part of them.
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
    """Load of each worker if a plan routes what was counted, int64[W]."""
    return np.rint(plan.loads_of(*statistics.items(0.0))).astype(np.int64)


def planner_of(grouping: Grouping) -> PlannedGrouping | None:
    """Give the grouping itself where plans of keys' places are made for it, as `planned` has them.

    Examples
    --------
    >>> planner_of(PlannedGrouping())
    PlannedGrouping(...)
    """
    return grouping if isinstance(grouping, PlannedGrouping) else None
