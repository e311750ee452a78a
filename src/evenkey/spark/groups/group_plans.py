"""Plans of a groupBy: each is made once from the weights of its keys, or read from a state."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Literal

import numpy as np

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import whole_plan
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
_NOTICED = 1.1
"""A key with more than this many fair shares of a worker visibly bounds the job."""


@dataclass(frozen=True)
class About:
    """Facts about the keys from which a plan was made.

    Parameters
    ----------
    keys
        Columns of the key.
    heaviest
        The hottest key, as text; empty if it does not matter.
    share
        Its share of all load, 0 to 1.
    load
        ``rows`` or ``cost``.
    seconds
        Time of counting.
    """

    keys: tuple[str, ...]
    heaviest: str
    share: float
    load: str
    seconds: float


@dataclass(frozen=True)
class GroupPlan(Fixed):
    """A plan of a groupBy, and facts about its keys.

    Parameters
    ----------
    memory
        The plan's arrays, as routing follows them.
    about
        None for a plan that `fit` made.
    place
        Where it was read from; empty if this call made it.
    """

    about: About | None = None
    place: str = ""

    def bound(self, workers: int) -> str:
        """Say which speed-up the hottest key allows at most; empty if it does not bound the job."""
        if self.about is None or self.about.share * workers <= _NOTICED:
            return ""
        share = self.about.share
        return (
            f"{self.about.heaviest} has {100 * share:.0f} % of the {self.about.load}: "
            f"at most {1 / share:.1f}x faster"
        )


class GroupPlans:
    """The plans of one groupBy, with whole or split keys.

    Parameters
    ----------
    session
        Its tasks access the state.
    keys
        Columns of the key, as results name them.
    grouping
        Splits keys.
    workers
        Number of workers.
    state
        Storage location of plans; None: they are not kept.
    weigh
        Weighs the keys when a plan is first needed.
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
        self._store = None if state is None else store_of(session, state)
        self._weigh = weigh
        self._made: dict[Way, GroupPlan] = {}

    @cached_property
    def weights(self) -> Weights:
        """Weights of the keys, which are counted once."""
        return self._weigh(self.grouping.statistics(self.workers))

    def of(self, way: Way) -> GroupPlan:
        """Give the plan of a way: the previous one, the one in the state, or a new one.

        Raises
        ------
        ConfigurationError
            The plan in the state is for other keys, workers or another grouping.
        RunError
            The state cannot be read or written.
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
        """Give the tables that keep plans, those of whole keys below the others; None: none do."""
        if self._store is None:
            return None
        if way == "planned":
            return RoutingTables(self._store, str(self.grouping), self.workers)
        return RoutingTables(self._store.under(_WHOLE), _WHOLE, self.workers)

    def check(self, memory: Snapshot, place: str) -> About | None:
        """Check that a plan is for these keys, and give the facts about them, if it stores any.

        Raises
        ------
        ConfigurationError
            It is for other keys.
        """
        if _ABOUT not in memory:
            return None
        fields = json.loads(str(memory[_ABOUT]))
        about = About(**{**fields, "keys": tuple(fields["keys"])})
        if about.keys != self._keys:
            message = (
                f"state {place} holds a plan for the key {', '.join(about.keys)}, not for "
                f"{', '.join(self._keys)}: pass another location as state"
            )
            raise ConfigurationError(message)
        return about

    def make(self, way: Way) -> GroupPlan:
        """Weigh the keys and make a plan, which replaces a plan in the state.

        Raises
        ------
        RunError
            The state cannot be written.
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
        named = weights.name_of(key) if bounds else ""
        load = "rows" if weights.of_rows else "cost"
        about = About(self._keys, named, share, load, weights.seconds)
        kept = {**memory, _ABOUT: np.array(json.dumps(asdict(about)))}
        KeptPlan(self._session, self.tables(way)).keep(kept)
        self._made[way] = GroupPlan(memory, about)
        return self._made[way]
