"""Join a stream with a batch; the plan of each epoch is made from keys of an earlier epoch."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import PlannedGrouping
from evenkey.spark.joins.placing import SPLIT, Side, place_side
from evenkey.spark.keys.given_columns import hash_of
from evenkey.spark.plans.lookup import plan_words
from evenkey.spark.plans.places import tables_of
from evenkey.spark.plans.plan_source import PerEpoch
from evenkey.spark.plans.stream_plans import learn_from

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.joins.join_keys import JoinKeys
    from evenkey.spark.joins.join_kinds import Kind

_OF_STREAM = {"left": ("inner", "left", "semi", "anti"), "right": ("inner", "right")}
"""Kinds of joins of a stream with a batch that Spark supports, by the side of the stream."""


def check_stream(left: DataFrame, right: DataFrame, kind: Kind) -> None:
    """Check that Spark supports the kind of join if a side is a stream.

    Raises
    ------
    ConfigurationError
        Spark does not support this kind of join with a stream, or both sides are streams.
    """
    if left.isStreaming and right.isStreaming:
        message = (
            "left and right are streams: evenkey joins a stream with a batch; use Spark's own "
            "left.join(right, ...) with watermarks"
        )
        raise ConfigurationError(message)
    if not left.isStreaming and not right.isStreaming:
        return
    side = "left" if left.isStreaming else "right"
    if kind.name not in _OF_STREAM[side]:
        message = (
            f"how = {kind.name!r}: Spark has no such join with a stream on the {side}, as a later "
            f"epoch may bring a match; use {', '.join(_OF_STREAM[side])}"
        )
        raise ConfigurationError(message)


def joined_in_stream(
    left: DataFrame,
    right: DataFrame,
    keys: JoinKeys,
    kind: Kind,
    workers: int,
    state: str | Path | Store | None,
) -> DataFrame:
    """Join by the epoch's plan: distribute the stream's rows of split keys, copy the batch's rows.

    The plan of epoch N + 2 is made from a sample of the keys of epoch N, as in `route`.

    Raises
    ------
    ConfigurationError, RunError
        As for `tables_of`.
    """
    grouping = PlannedGrouping()
    tables, mark = tables_of(left.sparkSession, state, str(grouping), workers)
    source = PerEpoch(tables, mark)
    placed = []
    for side, columns, keeps in (
        (left, keys.left, kind.keeps_left),
        (right, keys.right, kind.keeps_right),
    ):
        streams = side.isStreaming
        counted = learn_from(side, hash_of(columns), grouping, workers, tables) if streams else side
        waiting, words = plan_words(counted, grouping, workers, source)
        buckets = grouping.bucket_count(workers)
        what = Side(columns, copied=not streams, kept=keeps)
        placed.append(place_side(waiting, what, words, buckets, workers))
    return placed[0].join(placed[1], [*keys.names, SPLIT], kind.name).drop(SPLIT)
