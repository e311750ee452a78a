"""Plans of a groupBy: each plan is made once from the loads of the keys, or read from `state`."""

from __future__ import annotations

import functools
import json
import logging
import time
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import max_over_mean
from evenkey.core.printed_text import printable
from evenkey.groupings import Plan, unplanned, whole_plan
from evenkey.spark.groups.learning import learn_later, learn_now
from evenkey.spark.groups.weights import heaviest_of
from evenkey.spark.keys.explanation import counted_in, speedup
from evenkey.spark.plans.batch_plans import KeptPlan, stored_workers
from evenkey.spark.plans.learned_loads import LearnedLoads
from evenkey.spark.plans.places import store_of
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.plans.tables import RoutingTables
from evenkey.spark.sessions.access import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from evenkey.core.stores import Store
    from evenkey.groupings import KeyStatistics, PlannedGrouping, Snapshot
    from evenkey.spark.groups.group_keys import Keys
    from evenkey.spark.groups.weights import Weights

logger = logging.getLogger(__name__)

Way = Literal["whole", "planned"]

_WHOLE = "whole"
PINNED, COPY = "pinned", "copy"
"""Folders of a pinned plan, below the plans with whole keys, and of its copy, below the plan."""
_OF_BATCH = (_WHOLE, "")
_OF_STREAM = (f"{_WHOLE}/{PINNED}", f"{_WHOLE}/{PINNED}/{COPY}", _WHOLE)
_ABOUT = "about"
BY_HASH = "no rows: keys are placed by their hash"
"""Origin of a plan that was made when a stream with state began without one."""
_UNNAMED = "one key"
"""Name of the hottest key, if reading a row with the key would compute a costly input again, or if
the plan was made from what a run has counted, which has no names."""
_NOTICED = 1.1
"""If a key has more than this many times the fair load of a worker, it slows the job noticeably."""


@dataclass(frozen=True)
class About:
    """Facts about the keys from which a plan was made.

    Parameters
    ----------
    keys
        Names of the key columns; empty if the plan was made without knowing them.
    heaviest
        Name of the hottest key; empty: the hottest key does not slow the job.
    share
        Share of the hottest key in all load, 0 to 1.
    load
        Unit of the load: ``rows`` or ``cost``.
    seconds
        Seconds that counting took.
    error
        Bound on the error of a worker's planned load, as a share of the mean; 0: all rows were
        counted.
    origin
        What the plan was made from, if not from rows: `BY_HASH`, or the state of another query.
    learns
        Whether a run that follows this plan counts its keys, and stores the plan of the next run.
    """

    keys: tuple[str, ...]
    heaviest: str
    share: float
    load: str
    seconds: float
    error: float = 0.0
    origin: str = ""
    learns: bool = False


@dataclass(frozen=True)
class GroupPlan(Fixed):
    """A plan of a groupBy, and facts about its keys.

    Parameters
    ----------
    memory
        Arrays of the plan.
    about
        Facts about the keys. None: the plan was stored without facts, as `fit` does under
        ``planned``.
    place
        Storage location that the plan was read from; empty: this call made the plan.
    """

    about: About | None = None
    place: str = ""

    @property
    def seconds(self) -> float:
        """Seconds that counting took; 0: the plan was stored, or nothing was counted."""
        return 0.0 if self.place or self.about is None else self.about.seconds

    @property
    def error(self) -> float:
        """Bound on the error of a worker's planned load, as a share of the mean."""
        return 0.0 if self.about is None else self.about.error

    def line(self, way: Way, workers: int) -> str:
        """Return what the plan does, as one line for the log."""
        loads = Plan.from_arrays(self.memory, workers).loads
        keys = "whole keys" if way == "whole" else "split keys"
        made = counted_in(self.seconds, self.error)
        return f"{keys} on {workers} workers; max/mean load {max_over_mean(loads):.3f}; {made}"

    def bound(self, workers: int) -> str:
        """Return a warning if the hottest key is too much load for one task; else an empty text."""
        if self.about is None or self.about.share * workers <= _NOTICED:
            return ""
        share, heaviest = self.about.share, printable(self.about.heaviest)
        return (
            f"{heaviest} has {100 * share:.0f} % of the {self.about.load}, all in one "
            f"task, {workers * share:.1f} times the mean of {workers}"
        )


class GroupPlans:
    """The plans of one groupBy, with whole or split keys.

    Parameters
    ----------
    session
        Session of the rows. Over Connect, a task of this session reads and writes the plans.
    keys
        Names of the key columns in results.
    grouping
        Grouping that makes plans with split keys.
    workers
        Number of workers.
    state
        Storage location of plans; None: plans are not stored.
    weigh
        Function that computes the load of each key; called once, when a plan is first needed.
    inputs
        Number of DataFrames whose rows follow a plan together.
    by_cost
        Whether the load of a key is the cost of its rows; otherwise it is their number.
    """

    def __init__(
        self,
        session: SparkSession,
        keys: Sequence[str],
        grouping: PlannedGrouping,
        workers: int,
        state: str | Path | Store | None,
        weigh: Callable[[KeyStatistics], Weights],
        inputs: int = 1,
        *,
        by_cost: bool = False,
    ) -> None:
        self._session = session
        self._keys = tuple(keys)
        self.grouping = grouping
        self.workers = workers
        self.store = None if state is None else store_of(session, state)
        self._weigh = weigh
        self._made: dict[Way, GroupPlan] = {}
        self._logged: set[Way] = set()
        self._inputs = inputs
        self._by_cost = by_cost
        self._observed: list[LearnedLoads] = []

    @cached_property
    def weights(self) -> Weights:
        """Loads of the keys, which are computed once."""
        return self._weigh(self.grouping.statistics(self.workers))

    def of(self, way: Way) -> GroupPlan:
        """Return the plan with whole or split keys: from memory, else from `state`, else a new one.

        Raises
        ------
        ConfigurationError
            The plan in `state` is for other keys or workers, or for another grouping.
        RunError
            `state` cannot be read or written.
        """
        if not self.finds(way):
            self.make(way, learns=True)
        return self._made[way]

    def followed(self, way: Way) -> GroupPlan:
        """Return a plan as `of` does, for rows that will follow it; the plan is logged once."""
        plan = self.of(way)
        if way not in self._logged:
            self._logged.add(way)
            line = plan.line(way, self.workers)
            logger.info("groupBy(%s): %s", ", ".join(self._keys), line)
        return plan

    def finds(self, way: Way) -> bool:
        """Return whether there is a plan already: in memory, or in `state`.

        If loads are costs, a plan from numbers of rows that calls have made by themselves does not
        count: a new plan replaces it.

        Raises
        ------
        ConfigurationError, RunError
            As for `of`.
        """
        if way in self._made or self.store is None:
            return way in self._made
        learn_now()
        memory = self._stored(way)
        if memory:
            place = self.store.url
            about = self.check(memory, place)
            if self._by_cost and about is not None and about.learns:
                return False
            self._made[way] = GroupPlan(memory, about, place)
        return bool(memory)

    def _stored(self, way: Way) -> Snapshot:
        """Return the plan in `state`; empty if there is none."""
        memory = KeptPlan(self._session, self.tables(way)).find()
        if memory:
            Plan.from_arrays(memory, self.workers, self.grouping.bucket_count(self.workers))
        return memory

    @property
    def can_learn(self) -> bool:
        """Whether a run can count its keys, and there is a place for the plan of the next run.

        Over Connect, PySpark does not return what the second input of a cogroup has counted.
        """
        return self.store is not None and (self._inputs == 1 or not is_remote(self._session))

    def tables(self, way: Way) -> RoutingTables | None:
        """Return the tables that store plans with whole or split keys; None: nothing is stored."""
        if self.store is None:
            return None
        if way == "planned":
            return RoutingTables(self.store, str(self.grouping), self.workers)
        return RoutingTables(self.store.under(_WHOLE), _WHOLE, self.workers)

    def check(self, memory: Snapshot, place: str) -> About | None:
        """Check that a plan is for these keys; return the plan's facts, None if there are no facts.

        Raises
        ------
        ConfigurationError
            The plan is for other keys.
        """
        if _ABOUT not in memory:
            return None
        fields = json.loads(str(memory[_ABOUT]))
        about = About(**{**fields, "keys": tuple(fields["keys"])})
        if about.keys and about.keys != self._keys:
            message = (
                f"state {place} holds a plan for the key {', '.join(about.keys)}, not for "
                f"{', '.join(self._keys)}: pass another location as state"
            )
            raise ConfigurationError(message)
        return about

    def gain(self, way: Way, slots: int) -> float:
        """Return the predicted speedup over Spark's own placement; see `speedup`."""
        plan = Plan.from_arrays(self.of(way).memory, self.workers)
        return speedup(self.weights.spark_loads, plan.loads, slots)

    def by_hash(self) -> Snapshot:
        """Return a plan that places keys by their hash, as no loads are known."""
        buckets = self.grouping.bucket_count(self.workers)
        about = About(self._keys, "", 0.0, "rows", 0.0, origin=BY_HASH)
        return _stating(unplanned(buckets, self.workers).to_arrays(), about)

    def make(self, way: Way, origin: str = "", *, learns: bool = False) -> GroupPlan:
        """Make a plan from the loads of the keys; it replaces a plan in `state`.

        Parameters
        ----------
        way
            Whether keys are whole or split.
        origin, learns
            As for `About`. A plan by cost does not learn, because runs count rows.

        Raises
        ------
        RunError
            `state` cannot be written.
        """
        weights = self.weights
        key, share = weights.heaviest
        bounds = way == "whole" and share * self.workers > _NOTICED
        start = time.perf_counter()
        named = "" if not bounds else _UNNAMED if weights.costly else weights.names.of(key)
        seconds = weights.seconds + time.perf_counter() - start
        about = About(
            self._keys,
            named,
            share,
            "rows" if weights.of_rows else "cost",
            seconds,
            weights.error,
            origin,
            learns=learns and weights.of_rows,
        )
        memory = self._fitted(way, weights.statistics, {}, of_rows=weights.of_rows)
        KeptPlan(self._session, self.tables(way)).keep(_stating(memory, about))
        self._made[way] = GroupPlan(memory, about)
        return self._made[way]

    def _fitted(
        self, way: Way, statistics: KeyStatistics, before: Snapshot, *, of_rows: bool
    ) -> Snapshot:
        if way == "planned":
            return self.grouping.fitted(statistics, self.workers, before, of_messages=of_rows)
        least = statistics.total / len(statistics.bucket_loads)
        return whole_plan(*statistics.items(least), self.workers).to_arrays()

    def observed(self, way: Way, keys: Keys) -> Keys:
        """Let a run count the keys of its rows for the next plan, if the plan in `state` learns.

        Parameters
        ----------
        way
            Whether keys are whole or split.
        keys
            Rows of a batch, and their keys.

        Returns
        -------
        Keys
            The keys, on the rows whose keys are counted.
        """
        plan = self._made.get(way)
        learns = plan is None or (plan.about is not None and plan.about.learns)
        if not self.can_learn or not learns:
            return keys
        empty = self.grouping.statistics(self.workers)
        self._observed.append(LearnedLoads.of(keys.frame, keys.hashed, empty))
        frame = self._observed[-1].frame
        if len(self._observed) == self._inputs:
            store = functools.partial(self._learn, way)
            learn_later(self._observed, empty, self.workers, store)
            self._observed = []
        return replace(keys, frame=frame)

    def _learn(self, way: Way, statistics: KeyStatistics, error: float) -> None:
        """Replace the plan in `state` by one for the loads that a run has counted."""
        if not statistics.total:
            return  # the run had no rows, or failed before it counted any
        before = self._stored(way)
        about = self.check(before, "") if before else About(self._keys, "", 0.0, "rows", 0.0)
        if about is None or (before and not about.learns):
            return  # the user has stored another plan since
        share = heaviest_of(statistics)[1]
        about = replace(
            about, heaviest=_UNNAMED, share=share, seconds=0.0, error=error, learns=True
        )
        memory = self._fitted(way, statistics, before, of_rows=True)
        KeptPlan(self._session, self.tables(way)).keep(_stating(memory, about))


def planned_workers(
    session: SparkSession, state: str | Path | Store | None, *, streams: bool
) -> int | None:
    """Return the number of workers of the plan that a groupBy finds in `state`; None: no plan.

    Parameters
    ----------
    session, state
        As for `GroupPlans`.
    streams
        Whether the rows are a stream, which follows the pinned plan.

    Raises
    ------
    RunError
        `state` cannot be read.
    """
    learn_now()
    return stored_workers(session, state, _OF_STREAM if streams else _OF_BATCH)


def _stating(memory: Snapshot, about: About) -> Snapshot:
    """Return the arrays of a plan with the facts about its keys, as plans are stored."""
    return {**memory, _ABOUT: np.array(json.dumps(asdict(about)))}
