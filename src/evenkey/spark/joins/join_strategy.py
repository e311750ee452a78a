"""How a join runs: `SparkJoin`, `BatchJoin` or `StreamJoin`, chosen by `strategy_of`."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Protocol

from evenkey.core.errors import ConfigurationError
from evenkey.spark.joins.batch_join import BatchJoin
from evenkey.spark.joins.dealt_and_copied import JoinPlan
from evenkey.spark.joins.join_keys import join_keys
from evenkey.spark.joins.spark_join import SparkJoin, broadcast_reason
from evenkey.spark.joins.stream_join import StreamJoin
from evenkey.spark.keys.explanation import Explanation, Placement

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.spark.joins.join_request import JoinRequest


class JoinStrategy(Protocol):
    """A way to run a join, for the arguments of one call of `join`."""

    def joined(self) -> DataFrame:
        """Plan the join if it is not planned yet, log the plan, and return the result of the join.

        Raises
        ------
        ConfigurationError, RunError
            As for `join`.
        """

    def placement(self) -> Placement:
        """Explain where the rows of each key go.

        Raises
        ------
        ConfigurationError, RunError
            As for `join`.
        """


def strategy_of(request: JoinRequest) -> JoinStrategy:
    """Choose how a join runs."""
    streams = request.sides.left.isStreaming or request.sides.right.isStreaming
    plan = JoinPlan(request.kind.name, request.weigh, request.workers)
    keys = join_keys(*request.sides)
    if isinstance(keys, str):
        reason: str | None = keys
    elif request.workers == 1 and not streams:
        reason = "there is one worker"
    else:
        reason = broadcast_reason(request.plain)
    if isinstance(keys, str) or reason is not None:
        return SparkJoin(replace(plan, reason=reason), request.plain)
    if streams:
        return StreamJoin(request, keys, plan)
    return BatchJoin(request, keys)


def explain_join(request: JoinRequest) -> Explanation:
    """Explain how `join` places the keys: its choice and why, the hot keys, the load of tasks.

    If both sides are batches, a Spark job counts their keys, even if `state` has a plan.
    Nothing is counted if a side is a stream, or if Spark's own join is used.

    Raises
    ------
    ConfigurationError, RunError
        As for `join`.
    """
    strategy: JoinStrategy = strategy_of(request)
    operator = f"{request.kind.name} join on {', '.join(request.sides.shown)}"
    return Explanation(operator, request.workers, (strategy.placement(),))


def joined_by(request: JoinRequest, plan: JoinPlan) -> DataFrame:
    """Join two batches by a plan that exists already.

    Raises
    ------
    ConfigurationError
        evenkey cannot place rows by these keys, or Spark broadcasts a side.
    """
    keys = join_keys(*request.sides)
    reason = keys if isinstance(keys, str) else broadcast_reason(request.plain)
    if isinstance(keys, str) or reason is not None:
        raise ConfigurationError(str(reason))
    return BatchJoin(request, keys).joined_by(plan)
