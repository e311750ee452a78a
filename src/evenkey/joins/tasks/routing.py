"""Routing: each row of the stream to a slot where its partition lies, by Spark's expressions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, IntegerType, StructField, StructType

from evenkey.joins.balance.join_planner import COUNTS, DecideTask
from evenkey.joins.matching.by_key import in_partitions
from evenkey.joins.matching.on import PIPELINES
from evenkey.joins.matching.partition_join import CANDIDATES, FIRST, PARTITION, SLOT
from evenkey.joins.space.partitioners import Leaves
from evenkey.joins.static.dead_letters import Nowhere
from evenkey.joins.tasks.spreading import SpaceSpread
from evenkey.spark.keys import quoted
from evenkey.spark.plans import dealt_by_number
from evenkey.spark.sessions import in_workers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from evenkey.joins.balance.join_planner import JoinPlanner
    from evenkey.joins.matching.by_space import SpatialJoin
    from evenkey.joins.matching.on import Keys, SpatialMatch
    from evenkey.joins.static.dead_letters import DeadLetters
    from evenkey.joins.static.manifest import Manifest, StaticVersion


@dataclass(frozen=True)
class Routing:
    """Gives the rows of a stream their partitions, and the slot that each goes to.

    Parameters
    ----------
    stream
        Batch or streaming.
    planner
        Says where partitions lie. One task settles the plan of an epoch before all others begin.
        Of a batch that task has the rows of each partition, where the planner counts them: the
        batch is read one more time for it.
    manifest
        Of the static side.
    """

    stream: DataFrame
    planner: JoinPlanner
    manifest: Manifest

    def by_keys(self, on: Keys) -> DataFrame:
        """Add `HASH`, `PARTITION` and `SLOT`, by the hash of the keys."""
        spread = in_partitions(self.stream, on.columns, self.planner.partitions)
        return self._with_slots(spread, spread, F.lit(True))  # noqa: FBT003 - Spark's own

    def by_space(self, on: SpatialMatch, dead_letters: DeadLetters | None) -> DataFrame:
        """Give each row once for each partition where its geometry may find something.

        It has `PARTITION`, `FIRST` and `SLOT`, and `CANDIDATES` if an index found these.
        """
        spread = self._located(self.stream, on, dead_letters)
        counted = spread
        if self.planner.counts:
            # There is no plan before they are counted, and their dead letters will come again.
            shapes = self.stream.select(quoted(on.geometry))
            counted = self._located(shapes, on, Nowhere(), self.planner.batch_version)
        return self._with_slots(spread, counted, F.col(FIRST))

    def _located(
        self,
        rows: DataFrame,
        on: SpatialMatch,
        dead_letters: DeadLetters | None,
        version: StaticVersion | None = None,
    ) -> DataFrame:
        indexed = on.replicates_index
        task = SpaceSpread(
            self.planner,
            on.geometry,
            candidates=indexed,
            dead_letters=dead_letters,
            version=version,
        )
        fields = [*rows.schema, StructField(PARTITION, IntegerType())]
        fields.append(StructField(FIRST, BooleanType()))
        if indexed:
            fields.append(StructField(CANDIDATES, ArrayType(IntegerType())))
        return rows.mapInArrow(in_workers(rows.sparkSession, task), StructType(fields))

    def _with_slots(self, spread: DataFrame, counted: DataFrame, first: Column) -> DataFrame:
        """Add the slot: where the partition lies, or of several one in proportion to its share.

        Parameters
        ----------
        spread
            With `PARTITION`.
        counted
            The same rows, for a batch to count.
        first
            Whether a row is the first copy of an item.
        """
        session = spread.sparkSession
        asked = session.range(0, 1, 1, 1)
        if self.planner.counts:
            asked = _counts(counted, first)
        task = in_workers(session, DecideTask(self.planner))
        places = asked.mapInArrow(task, "places array<bigint>").scalar()
        return dealt_by_number(spread, F.col(PARTITION), places, self.planner.workers, SLOT)


def _counts(rows: DataFrame, first: Column) -> DataFrame:
    """Count, in one row, the rows of each partition, and those that are an item's first copy."""
    each = rows.groupBy(F.col(PARTITION).alias("partition")).agg(
        F.count(F.lit(1)).alias("items"), F.count_if(first).alias("distinct")
    )
    return each.agg(F.collect_list(F.struct("partition", "items", "distinct")).alias(COUNTS))


def space_join(on: SpatialMatch, columns: tuple[str, ...], manifest: Manifest) -> SpatialJoin:
    """Give the join within a partition, for the columns of the stream that the result has."""
    leaves = Leaves.from_json(manifest.partitioning)
    # Of one leaf, the whole plane, every pair is its own.
    bounds = None if on.replicates_index or leaves.partitions == 1 else leaves.bounds
    return PIPELINES[on.pipeline](on.geometry, columns, on.geometry, bounds)
