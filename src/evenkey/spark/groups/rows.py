"""The rows of a groupBy and their placement, which all methods of the groupBy use."""

from __future__ import annotations

import logging
from functools import cached_property
from typing import TYPE_CHECKING

from evenkey.core.checking import check_one_of, check_workers, shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.groups.choosing import Choice, choose, read_grouping
from evenkey.spark.groups.exchange import SPLIT, exchanged
from evenkey.spark.groups.group_keys import Keys, expression_of, keyed, listed
from evenkey.spark.groups.group_plans import GroupPlans, planned_workers
from evenkey.spark.groups.weights import Side, Weights, cost_column
from evenkey.spark.keys.explanation import counted_in
from evenkey.spark.keys.given_columns import check_frame
from evenkey.spark.keys.spark_placement import no_gain
from evenkey.spark.plans.costly_inputs import costly_part, warn_of_costly
from evenkey.spark.plans.places import check_state
from evenkey.spark.sessions.task_slots import shuffle_partitions, slots_of
from evenkey.spark.sessions.worker_python import check_python

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, GroupedData

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping, KeyStatistics

logger = logging.getLogger(__name__)

_FIX = "persist it first, or pass state=, so that each run counts its keys for the next one"


class Rows:
    """The rows of one DataFrame, with their keys and the options of `groupBy`.

    Parameters
    ----------
    df, keys, workers, grouping, state, cost, exact
        As for `groupBy`.

    Raises
    ------
    ConfigurationError
        An argument is invalid.
    """

    def __init__(
        self,
        df: DataFrame,
        keys: Sequence[object],
        workers: int | None,
        grouping: str | Grouping,
        state: str | Path | Store | None,
        cost: str | Column | None,
        *,
        exact: bool = False,
    ) -> None:
        check_frame(df)
        self.df = df
        self.listed = listed(keys)
        self.wanted, self.grouping = read_grouping(grouping)
        if workers is not None:
            check_workers(workers)
        self._workers = workers
        check_state(state)
        check_one_of("exact", exact, (True, False))
        self.state = state
        self.cost = cost_column(df, cost)
        self._exact = exact
        self._said = ""

    @cached_property
    def plain(self) -> GroupedData:
        """Spark's own groupBy."""
        return self.df.groupBy(*(expression_of(self.df, key) for key in self.listed))

    @cached_property
    def keys(self) -> Keys:
        """The key columns, with the DataFrame that has them.

        Raises
        ------
        ConfigurationError
            There is no such column.
        """
        return keyed(self.df, self.listed)

    @property
    def shown(self) -> str:
        """The operator and its keys, as text."""
        return f"groupBy({', '.join(self.keys.shown)})"

    @cached_property
    def python_keys(self) -> Keys:
        """The key columns on a DataFrame that Spark can pass to Python; see `Keys.for_python`.

        Raises
        ------
        ConfigurationError
            As for `keys`.
        """
        return self.keys.for_python()

    @cached_property
    def workers(self) -> int:
        """Number of workers; by default that of the plan in `state`, else that of the session.

        The session's number is its slots, or for a stream its shuffle partitions.
        """
        if self._workers is not None:
            return self._workers
        session, streams = self.df.sparkSession, self.df.isStreaming
        known = planned_workers(session, self.state, streams=streams)
        return known or (shuffle_partitions(session) if streams else slots_of(session))

    @cached_property
    def plans(self) -> GroupPlans:
        """Plans made from the loads of these rows' keys."""
        return self.plans_of(Side(self.keys, self.cost))

    def plans_of(self, *sides: Side) -> GroupPlans:
        """Return plans made from the loads of the keys on several sides together."""

        def weigh(empty: KeyStatistics) -> Weights:
            weights = Weights(sides, empty, self.workers, exact=self._exact)
            counted = (side.keys.frame.select(side.keys.hashed) for side in sides)
            warn_of_costly(logger, self.shown, counted, weights.seconds, _FIX)
            return weights

        session = self.df.sparkSession
        return GroupPlans(
            session,
            self.keys.shown,
            self.grouping,
            self.workers,
            self.state,
            weigh,
            inputs=len(sides),
            by_cost=any(side.cost is not None for side in sides),
        )

    def choice(self, *, merges: bool = False) -> Choice:
        """Choose how keys are placed, for work on whole keys or on parts that are merged.

        Raises
        ------
        ConfigurationError
            The requested grouping is not possible.
        """
        choice = choose(self.wanted, self.keys, self.workers, merges=merges)
        if choice.way == "spark" and choice.why != self._said and choice.unasked:
            self._said = choice.why
            logger.warning("%s: Spark's own placement: %s", self.shown, choice.why)
        return choice

    def settled(self, choice: Choice, plans: GroupPlans | None = None) -> Choice:
        """Return the choice, or Spark's own placement if it is as fast and the user left it open.

        The user left it open if only the keys were passed. This counts the keys; see `no_gain`. The
        first run with a `state` is left to Spark too, if its input is costly to compute.

        Parameters
        ----------
        choice
            Choice for a batch.
        plans
            Plans for these rows and others; None: for these rows alone.
        """
        if choice.way == "spark" or self.wanted != "auto":
            return choice
        plans = self.plans if plans is None else plans
        if self.state is not None and self.cost is None:
            return self._first_run(choice, plans)
        if (self._workers, self.state, self.cost) != (None, None, None):
            return choice
        values = plans.weights.statistics.total * (len(self.df.columns) + 1)
        gain = plans.gain(choice.way, self.workers)
        why = no_gain(self.df.sparkSession, gain, values, self.workers)
        if why is None:
            return choice
        plan = plans.of(choice.way)
        made = counted_in(plan.seconds, plan.error)
        logger.info("%s: Spark's own placement: %s; %s", self.shown, why, made)
        return Choice("spark", why, seconds=plan.seconds, error=plan.error)

    def _first_run(self, choice: Choice, plans: GroupPlans) -> Choice:
        """Leave a run without a plan to Spark if its input is costly; it counts for the next."""
        if choice.way == "spark" or self._exact or not plans.can_learn or plans.finds(choice.way):
            return choice
        what = costly_part(self.keys.frame.select(self.keys.hashed))
        if what is None:
            return choice
        why = f"the input has {what}, so this run counts its keys for the plan of the next run"
        logger.info("%s: Spark's own placement: %s", self.shown, why)
        return Choice("spark", why, next_way=choice.way)

    def check_batch(self, method: str) -> None:
        """Check that the rows are a batch, and that the workers' Python can be used.

        Raises
        ------
        ConfigurationError
            The rows are a stream, or the workers' Python cannot be used.
        """
        if self.df.isStreaming:
            message = (
                f"{method}: a stream has no end, so the rows of a key are never complete; call it "
                "in foreachBatch, or use transformWithStateInPandas"
            )
            raise ConfigurationError(message)
        check_python(self.df.sparkSession)

    def grouped(
        self,
        keys: Keys,
        choice: Choice,
        plans: GroupPlans | None = None,
        remedy: str = "",
    ) -> tuple[GroupedData, tuple[str, ...]]:
        """Move rows to their workers, and group them there.

        Parameters
        ----------
        keys
            Keys, with the DataFrame to group: these rows, possibly with additional columns.
        choice
            How keys are placed.
        plans
            Plans to follow; None: plans made from these rows alone.
        remedy
            Text that is appended to the warning about the hottest key.

        Returns
        -------
        tuple
            The rows, grouped by the key, and also by `SPLIT` if evenkey placed them. And the names
            of all columns that evenkey added.
        """
        if choice.way == "spark" and choice.next_way is None:
            return keys.frame.groupBy(*keys.columns), keys.own
        plans = self.plans if plans is None else plans
        if choice.way == "spark":
            keys = plans.observed(choice.next_way or "whole", keys)
            return keys.frame.groupBy(*keys.columns), keys.own
        whole = choice.way == "whole"
        plan = plans.followed(choice.way)
        bound = plan.bound(self.workers) if whole else ""
        if bound:
            logger.warning("%s%s", bound, remedy)
        keys = plans.observed(choice.way, keys)
        frame = exchanged(keys, plan, self.grouping, self.workers, whole=whole)
        return frame.groupBy(*keys.columns, SPLIT), (*keys.own, SPLIT)


def check_kind(other: object, kind: type, name: str) -> None:
    """Check that a second DataFrame was grouped by evenkey too.

    Raises
    ------
    ConfigurationError
        `other` was not grouped by evenkey.
    """
    if not isinstance(other, kind):
        message = (
            f"{name} = {shown(other)}: must be grouped by evenkey too; pass "
            "eks.groupBy(df, 'key') in place of df.groupBy('key')"
        )
        raise ConfigurationError(message)
