"""Plans of a groupBy: each plan is made once from the loads of the keys, or read from `state`."""

from __future__ import annotations

import json
import time
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.core.printed_text import printable
from evenkey.groupings import Plan, unplanned, whole_plan
from evenkey.spark.keys.explanation import speedup
from evenkey.spark.plans.batch_plans import KeptPlan
from evenkey.spark.plans.places import store_of
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.plans.tables import RoutingTables

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import SparkSession

    from evenkey.core.stores import Store
    from evenkey.groupings import KeyStatistics, PlannedGrouping, Snapshot
    from evenkey.spark.groups.weights import Weights

Way = Literal["whole", "planned"]

_WHOLE = "whole"
_ABOUT = "about"
BY_HASH = "no rows: keys are placed by their hash"
"""Origin of a plan that was made when a stream with state began without one."""
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
    """

    keys: tuple[str, ...]
    heaviest: str
    share: float
    load: str
    seconds: float
    error: float = 0.0
    origin: str = ""


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
    """

    def __init__(
        self,
        session: SparkSession,
        keys: Sequence[str],
        grouping: PlannedGrouping,
        workers: int,
        state: str | Path | Store | None,
        weigh: Callable[[KeyStatistics], Weights],
    ) -> None:
        self._session = session
        self._keys = tuple(keys)
        self.grouping = grouping
        self.workers = workers
        self.store = None if state is None else store_of(session, state)
        self._weigh = weigh
        self._made: dict[Way, GroupPlan] = {}

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
        if way not in self._made:
            tables = self.tables(way)
            memory = KeptPlan(self._session, tables).find()
            if tables is None or not memory:
                return self.make(way)
            place = tables.store.url
            self._made[way] = GroupPlan(memory, self.check(memory, place), place)
        return self._made[way]

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
        plan = Plan.from_arrays(self.of(way).memory)
        return speedup(self.weights.spark_loads, plan.loads, slots)

    def by_hash(self) -> Snapshot:
        """Return a plan that places keys by their hash, as no loads are known."""
        buckets = self.grouping.bucket_count(self.workers)
        about = About(self._keys, "", 0.0, "rows", 0.0, origin=BY_HASH)
        return _stating(unplanned(buckets, self.workers).to_arrays(), about)

    def make(self, way: Way, origin: str = "") -> GroupPlan:
        """Make a plan from the loads of the keys; it replaces a plan in `state`.

        Parameters
        ----------
        way
            Whether keys are whole or split.
        origin
            As for `About`.

        Raises
        ------
        RunError
            `state` cannot be written.
        """
        weights = self.weights
        if way == "planned":
            memory = self.grouping.fitted(
                weights.statistics, self.workers, {}, of_messages=weights.of_rows
            )
        else:
            least = weights.statistics.total / len(weights.statistics.bucket_loads)
            memory = whole_plan(*weights.statistics.items(least), self.workers).to_arrays()
        key, share = weights.heaviest
        bounds = way == "whole" and share * self.workers > _NOTICED
        start = time.perf_counter()
        named = weights.names.of(key) if bounds else ""
        seconds = weights.seconds + time.perf_counter() - start
        load = "rows" if weights.of_rows else "cost"
        about = About(self._keys, named, share, load, seconds, weights.error, origin)
        KeptPlan(self._session, self.tables(way)).keep(_stating(memory, about))
        self._made[way] = GroupPlan(memory, about)
        return self._made[way]


def _stating(memory: Snapshot, about: About) -> Snapshot:
    """Return the arrays of a plan with the facts about its keys, as plans are stored."""
    return {**memory, _ABOUT: np.array(json.dumps(asdict(about)))}
