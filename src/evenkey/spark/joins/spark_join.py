"""Spark's own join, unchanged, and how to see that it broadcasts a side."""

from __future__ import annotations

import logging
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.spark.keys.explanation import Placement, counted
from evenkey.spark.sessions.printed_plans import printed_plan

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.spark.joins.dealt_and_copied import JoinPlan

logger = logging.getLogger(__name__)

_JOIN = re.compile(r"^[ :+*()\d-]*(\w*Join)\b", re.MULTILINE)
"""Matches the topmost join in a plan that Spark has printed."""


@dataclass(frozen=True)
class SparkJoin:
    """Spark's own join, see `JoinStrategy`.

    Parameters
    ----------
    plan
        Plan with the reason.
    plain
        Result of Spark's own join.
    """

    plan: JoinPlan
    plain: DataFrame

    def joined(self) -> DataFrame:
        """Return the result of Spark's own join."""
        logger.info("%s", self.plan)
        return self.plain

    def placement(self) -> Placement:
        """Give the reason, and what it cost to find out."""
        cost = counted(self.plan.seconds, "both sides", self.plan.error)
        notes = (f"cost: {cost}",) if self.plan.seconds else ()
        return Placement("join", f"Spark's own join ({self.plan.reason})", notes=notes)


def broadcast_reason(plain: DataFrame) -> str | None:
    """Return a reason to leave the join to Spark if Spark broadcasts a side; None: it does not."""
    first = _JOIN.search(printed_plan(plain))
    if first is None or not first[1].startswith("Broadcast"):
        return None
    return "it broadcasts a side, so the other side is not shuffled, and hot keys make no task long"
