"""Join a stream with a batch; the plan of each epoch is made from keys of an earlier epoch."""

from __future__ import annotations

import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING

from evenkey.groupings import PlannedGrouping
from evenkey.spark.joins.placing import SPLIT, Side, place_side
from evenkey.spark.keys.explanation import Placement
from evenkey.spark.keys.given_columns import hash_of
from evenkey.spark.plans.lookup import plan_words
from evenkey.spark.plans.places import tables_of
from evenkey.spark.plans.plan_source import PerEpoch
from evenkey.spark.plans.stream_plans import learn_from

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.spark.joins.dealt_and_copied import JoinPlan
    from evenkey.spark.joins.join_keys import JoinKeys
    from evenkey.spark.joins.join_request import JoinRequest


logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class StreamJoin:
    """A join of a stream with a batch by the plan of each epoch, see `JoinStrategy`.

    Parameters
    ----------
    request
        The arguments of the join.
    keys
        Key columns of both sides.
    plan
        Says that plans are made epoch by epoch.
    """

    request: JoinRequest
    keys: JoinKeys
    plan: JoinPlan

    def joined(self) -> DataFrame:
        """Distribute the stream's rows of split keys, and copy the batch's rows.

        The plan of epoch N + 2 is made from a sample of the keys of epoch N, as in `route`.
        """
        logger.info("%s", self.plan)
        request, grouping = self.request, PlannedGrouping()
        kind, workers, session = request.kind, request.workers, request.plain.sparkSession
        tables, mark = tables_of(session, request.state, str(grouping), workers)
        source = PerEpoch(tables, mark)
        placed = []
        for side, columns, keeps in (
            (request.sides.left, self.keys.left, kind.keeps_left),
            (request.sides.right, self.keys.right, kind.keeps_right),
        ):
            streams = side.isStreaming
            rows = (
                learn_from(side, hash_of(columns), grouping, workers, tables) if streams else side
            )
            waiting, words = plan_words(rows, grouping, workers, source)
            buckets = grouping.bucket_count(workers)
            what = Side(columns, copied=not streams, kept=keeps)
            placed.append(place_side(waiting, what, words, buckets, workers))
        joined = placed[0].join(placed[1], [*self.keys.names, SPLIT], kind.name)
        return joined.drop(SPLIT, *request.sides.own)

    def placement(self) -> Placement:
        """Say that plans are made epoch by epoch."""
        return Placement("join", "plans are made epoch by epoch, from the rows of the stream")
