"""Join two batches by a plan, which is made from counts of their keys or read from `state`."""

from __future__ import annotations

import json
import logging
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import PlannedGrouping
from evenkey.spark.joins.dealt_and_copied import JoinPlan, make_join_plan
from evenkey.spark.joins.join_counts import Sizes, count_both
from evenkey.spark.joins.placing import SPLIT, Side, place_side
from evenkey.spark.joins.spark_join import SparkJoin
from evenkey.spark.joins.witnesses import LEFT, RIGHT, without_more
from evenkey.spark.keys.explanation import Placement, counted_or_stored, hottest, speedup
from evenkey.spark.keys.given_columns import hash_of, quoted
from evenkey.spark.keys.key_names import KeyNames, NamedRows
from evenkey.spark.keys.spark_placement import no_gain
from evenkey.spark.plans.batch_plans import KeptPlan
from evenkey.spark.plans.costly_inputs import costly_part, warn_of_costly
from evenkey.spark.plans.lookup import HASH, plan_words
from evenkey.spark.plans.plan_source import Fixed
from evenkey.spark.sessions.task_slots import shuffle_partitions, slots_of

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.spark.joins.join_counts import JoinCounts
    from evenkey.spark.joins.join_keys import JoinKeys
    from evenkey.spark.joins.join_request import JoinRequest

logger = logging.getLogger(__name__)

_FIX = "persist it first, or pass state=, which keeps the plan for later calls"
_ON = "on"
"""Name of the array of a stored plan that has the names of the join's keys."""


@dataclass(frozen=True)
class BatchJoin:
    """A join of two batches, see `JoinStrategy`.

    Parameters
    ----------
    request
        The arguments of the join.
    keys
        Key columns of both sides.
    """

    request: JoinRequest
    keys: JoinKeys

    def joined(self) -> DataFrame:
        """Plan the join, log the plan, and join by it."""
        plan, _ = self.planned()
        if plan.reason is not None:
            return SparkJoin(plan, self.request.plain).joined()
        logger.info("%s", plan)
        return self.joined_by(plan)

    def planned(self) -> tuple[JoinPlan, JoinCounts | None]:
        """Read the plan from `state`; if there is none, count the keys, and make and store a plan.

        Returns
        -------
        tuple
            The plan, and the counts from which it was made; None: it was read from `state`.

        Raises
        ------
        ConfigurationError, RunError
            As for `join`.
        """
        request, shown = self.request, self.request.sides.shown
        how, weigh, workers = request.kind.name, request.weigh, request.workers
        label = f"join(how={how},weigh={weigh})"
        kept = KeptPlan.at(request.plain.sparkSession, request.state, label, workers)
        # In lower case, as Spark may find a column by another spelling.
        folded = [name.lower() for name in shown]
        known = kept.find()
        if known:
            # Plans of earlier versions do not say the keys.
            keys = json.loads(str(known[_ON])) if _ON in known else folded
            if keys != folded:
                place = "" if kept.tables is None else f" {kept.tables.store.url}"
                message = (
                    f"state{place} holds a plan for a join on {', '.join(keys)}, not on "
                    f"{', '.join(shown)}: pass another location as state"
                )
                raise ConfigurationError(message)
            return JoinPlan.from_arrays(known, how, weigh, workers), None
        counts, seconds = self._counted()
        plan = make_join_plan(counts, request.kind, weigh, workers, seconds)
        kept.keep({**plan.to_arrays(), _ON: np.array(json.dumps(folded))})
        return replace(plan, reason=self._little_gain(plan, counts)), counts

    def _counted(self) -> tuple[JoinCounts, float]:
        """Count the keys of both sides; return the counts, and the seconds that it took."""
        begin, request = time.monotonic(), self.request
        empty = PlannedGrouping().statistics(request.workers)
        partitions = shuffle_partitions(request.plain.sparkSession)
        sizes = Sizes(empty.sketch.capacity, len(empty.bucket_loads), partitions, request.workers)
        sides, kind, weigh = request.sides[:2], request.kind, request.weigh
        counts = count_both(*sides, self.keys, kind, weigh, sizes, exact=request.exact)
        seconds = time.monotonic() - begin
        warn_of_costly(logger, f"join ({request.kind.name})", self._read(), seconds, _FIX)
        return counts, seconds

    def _read(self) -> tuple[DataFrame, DataFrame]:
        """Return the columns of both sides that counting reads."""
        left, right = self.request.sides[:2]
        return left.select(*self.keys.left), right.select(*self.keys.right)

    def _little_gain(self, plan: JoinPlan, counts: JoinCounts) -> str | None:
        """Return why Spark's own join is as fast, if the user left the choice open."""
        request = self.request
        # The work does not include right rows that a semi or anti join only has to test.
        if not request.is_open or plan.plan is None or plan.combines_right:
            return None
        session = request.plain.sparkSession
        slots = slots_of(session)
        # The plan does not include rows with a null key, which evenkey spreads over all workers.
        nulls = max(0.0, float(counts.spark_loads.sum() - counts.bucket_work.sum()))
        gain = speedup(counts.spark_loads, plan.plan.loads + nulls / request.workers, slots)
        columns = [len(side.columns) for side in request.sides[:2]]
        values = sum(rows * number for rows, number in zip(counts.rows, columns, strict=True))
        return no_gain(session, gain, values, slots)

    def joined_by(self, plan: JoinPlan) -> DataFrame:
        """Place the rows of both sides by a plan, and join them with Spark's own join."""
        request, keys = self.request, self.keys
        kind, (left, right) = request.kind, request.sides[:2]
        if plan.plan is None or plan.dealt_right is None:
            raise AssertionError
        buckets = len(plan.plan.owners)
        dealt_left, dealt_right = (
            hashes.view(np.int64).tolist() for hashes in (plan.dealt_left, plan.dealt_right)
        )
        splits = len(plan.split) > 0
        is_dealt_right = F.col(HASH).isin(dealt_right)
        sides = (
            Side(
                keys.left,
                copied=is_dealt_right if dealt_right else False,
                kept=kind.keeps_left,
                witnessed=tuple(dealt_left) if kind.keeps_right else (),
                splits=splits,
                mark=LEFT,
            ),
            Side(
                keys.right,
                copied=~is_dealt_right if dealt_left and dealt_right else bool(dealt_left),
                kept=kind.keeps_right,
                witnessed=tuple(dealt_right) if kind.keeps_left else (),
                splits=splits,
                mark=RIGHT,
            ),
        )
        asked = any(side.witnessed for side in sides)
        if not asked:
            sides = (replace(sides[0], mark=None), replace(sides[1], mark=None))
        if plan.combines_right:
            right = right.select(*(quoted(name) for name in keys.names)).distinct()
        placed = []
        for frame, side in zip((left, right), sides, strict=True):
            fixed = Fixed(plan.plan.to_arrays())
            _, words = plan_words(frame, PlannedGrouping(), plan.workers, fixed)
            placed.append(place_side(frame, side, words, buckets, plan.workers))
        joined = placed[0].join(placed[1], [*keys.names, SPLIT], kind.name).drop(SPLIT)
        joined = without_more(joined) if asked else joined
        return joined.drop(*request.sides.own)

    def placement(self) -> Placement:
        """Explain the plan; the keys are counted, even if the plan was stored."""
        plan, counts = self.planned()
        if plan.reason is not None:
            return SparkJoin(plan, self.request.plain).placement()
        counts, request = counts or self._counted()[0], self.request
        if plan.plan is None:
            raise AssertionError
        total = float(counts.bucket_work.sum())
        sides = zip(request.sides[:2], (self.keys.left, self.keys.right), strict=True)
        names = KeyNames(
            [
                NamedRows(side, columns, request.sides.shown, hash_of(columns))
                for side, columns in sides
            ]
        )
        parts = map(costly_part, self._read())
        costly = next((part for part in parts if part is not None), None)
        counting = counted_or_stored(plan.seconds, "both sides", plan.error, costly)
        return Placement(
            "join",
            _choice(plan),
            unit="rows" if request.weigh == "rows" else "work",
            hot_keys=hottest(plan.plan, counts.keys, counts.work, total, names.of),
            loads=plan.plan.loads_of(counts.keys, counts.work, counts.rest()),
            spark_loads=counts.spark_loads,
            slots=slots_of(request.plain.sparkSession),
            notes=(f"cost: {_copied(plan.copies(counts))}{counting}",),
        )


def _choice(plan: JoinPlan) -> str:
    ways = [("left", "right", plan.dealt_left), ("right", "left", plan.dealt_right)]
    parts = [
        f"{len(dealt):,} by distributing the {one} rows and copying the {other} rows"
        for one, other, dealt in ways
        if dealt is not None and len(dealt)
    ]
    if not parts:
        return "whole keys (none has more work than a task should have)"
    return f"split keys ({'; '.join(parts)})"


def _copied(rows: int) -> str:
    return f"{rows:,} rows are copied; " if rows else ""
