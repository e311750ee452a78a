"""Routing: Spark expressions that assign each row of the stream to a slot of its partition."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, BooleanType, IntegerType, StructField, StructType

from evenkey.joins.balance.epoch_plans import COUNTS, DecideTask
from evenkey.joins.matching.by_key import in_partitions
from evenkey.joins.matching.partition_join import CANDIDATES, FIRST, PARTITION, SLOT
from evenkey.joins.static.dead_letters import Nowhere
from evenkey.joins.tasks.spreading import SpaceSpread
from evenkey.spark.keys import quoted
from evenkey.spark.plans import dealt_by_number
from evenkey.spark.sessions import in_workers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from evenkey.joins.balance.epoch_plans import EpochPlans
    from evenkey.joins.matching.on import Keys, SpatialMatch
    from evenkey.joins.static.dead_letters import DeadLetters
    from evenkey.joins.static.manifest import Manifest, StaticVersion


@dataclass(frozen=True)
class Routing:
    """Adds to each row of a stream its partition and the slot that it goes to.

    Parameters
    ----------
    stream
        Batch or streaming.
    plans
        Plans that assign partitions to slots. One task decides the plan of an epoch before all
        other tasks begin. If the rows of a batch are counted first, this task gets the number of
        rows of each partition. For these counts, the batch is read one more time.
    manifest
        Manifest of the static side.
    """

    stream: DataFrame
    plans: EpochPlans
    manifest: Manifest

    def by_keys(self, on: Keys) -> DataFrame:
        """Add the columns `HASH`, `PARTITION` and `SLOT`, by the hash of the keys."""
        spread = in_partitions(self.stream, on.columns, self.plans.partitions)
        return self._with_slots(spread, spread, F.lit(True))  # noqa: FBT003 - Spark's own

    def by_space(self, on: SpatialMatch, dead_letters: DeadLetters | None) -> DataFrame:
        """Repeat each row for each partition in which its geometry may have a match.

        This adds the columns `PARTITION`, `FIRST` and `SLOT`. If an index finds candidates, it also
        adds the column `CANDIDATES`.
        """
        spread = self._located(self.stream, on, dead_letters)
        counted = spread
        if self.plans.counts:
            # There is no plan yet, so the version is passed here. Dead letters are written later,
            # when the same rows are joined.
            shapes = self.stream.select(quoted(on.geometry))
            counted = self._located(shapes, on, Nowhere(), self.plans.batch_version)
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
            self.plans,
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
        """Add the column `SLOT`; slots that share a partition get its rows by their shares.

        Parameters
        ----------
        spread
            Rows with the column `PARTITION`.
        counted
            The same rows, which are counted if they are a batch.
        first
            Column that is true if a row is the first copy of an item.
        """
        session = spread.sparkSession
        asked = session.range(0, 1, 1, 1)
        if self.plans.counts:
            asked = _counts(counted, first)
        task = in_workers(session, DecideTask(self.plans))
        places = asked.mapInArrow(task, "places array<bigint>").scalar()
        return dealt_by_number(spread, F.col(PARTITION), places, self.plans.workers, SLOT)


def _counts(rows: DataFrame, first: Column) -> DataFrame:
    """Count the rows of each partition, and the first copies of items; the result is one row."""
    each = rows.groupBy(F.col(PARTITION).alias("partition")).agg(
        F.count(F.lit(1)).alias("items"), F.count_if(first).alias("distinct")
    )
    return each.agg(F.collect_list(F.struct("partition", "items", "distinct")).alias(COUNTS))
