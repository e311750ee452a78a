"""Write the static side: Spark tasks write a DataFrame as the partitions of a new version."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from pyspark.sql import functions as F
from pyspark.sql.types import ByteType, IntegerType, StructField, StructType

from evenkey.core.errors import ConfigurationError, RunError
from evenkey.joins.matching.by_key import in_partitions
from evenkey.joins.matching.on import Keys, SpatialMatch
from evenkey.joins.matching.partition_join import PARTITION, RELATION
from evenkey.joins.sides.division import StaticSpread, divide
from evenkey.joins.sides.write_tasks import OUTCOME, WRITTEN, CommitTask, WriteTask
from evenkey.spark.keys import NamedTask, hash_of, key_columns, with_plain_names
from evenkey.spark.sessions import (
    at_state,
    from_arrow_schema,
    in_workers,
    shuffle_partitions,
    to_arrow_schema,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.joins.space.partitioners import Leaves
    from evenkey.joins.static.dead_letters import DeadLetters
    from evenkey.joins.static.fingerprint import Fingerprint
    from evenkey.joins.static.manifest import Manifest
    from evenkey.joins.static.static_store import StaticStore


def write_static(
    static: DataFrame,
    store: StaticStore,
    on: Keys | SpatialMatch,
    *,
    partitions: int,
    leaves: Leaves | None = None,
    dead_letters: DeadLetters | None = None,
    fingerprint: Fingerprint | None = None,
    refreshed: bool = False,
) -> Manifest:
    """Write a static DataFrame as the store's next version.

    Parameters
    ----------
    static
        Batch DataFrame; its rows never pass through the driver.
    store
        The store to write to.
    on
        Condition of the join.
    partitions
        Number of partitions, P.
    leaves
        How space is divided; None: divide it by the static geometries.
    dead_letters
        Stores rows that cannot be joined; None: such a row raises an error.
    fingerprint
        Fingerprint of `static`; None: later calls cannot compare their DataFrame with this version.
    refreshed
        Whether `refresh` writes this version, to replace the previous version.

    Raises
    ------
    ConfigurationError
        A column is missing or of a type that cannot be joined on.
    RunError
        A row has a null key or an unusable geometry, or the store cannot be written.
    """
    session = static.sparkSession
    writer = at_state(session, store.begin)
    if isinstance(on, Keys):
        spread, partitioning = in_partitions(static, on.columns, partitions), on.to_json()
    else:
        key_columns(static, [each for each in (on.geometry, on.relation_column) if each])
        leaves = leaves or divide(static, on, partitions)
        task = StaticSpread(on, leaves, dead_letters, writer.version.number)
        spread = _by_space(static, on, partitions, task)
        partitioning = {**on.to_json(), **leaves.to_json()}
    commit = CommitTask(
        store,
        writer,
        index=isinstance(on, SpatialMatch) and on.replicates_index,
        partitions=partitions,
        partitioning=partitioning,
        columns=kept_columns(static, on),
        schema=to_arrow_schema(spread.drop(PARTITION).schema, timezone=_timezone(static)),
        fingerprint=fingerprint,
        refreshed=refreshed,
    )
    tasks = min(partitions, shuffle_partitions(session))
    placed = spread.repartitionById(tasks, F.col(PARTITION))
    writing = in_workers(session, NamedTask(WriteTask(writer, on), placed.columns))
    written = with_plain_names(placed).mapInArrow(writing, from_arrow_schema(WRITTEN))
    # Add one row of nulls, because Spark skips tasks if it knows that there are no rows.
    nothing = session.range(0, 1, 1, 1).select(
        *(F.lit(None).cast(field.dataType).alias(field.name) for field in written.schema)
    )
    (outcome,) = (
        written.union(nothing)
        .repartition(1)
        .mapInArrow(in_workers(session, commit), OUTCOME)
        .collect()
    )
    if outcome.error is not None:
        raise (RunError if outcome.failed else ConfigurationError)(outcome.error)
    # This process (over Connect, one more task) must also see what the tasks wrote, so it reads the
    # manifest.
    return at_state(session, partial(store.written_by(outcome.host).manifest, writer.version))


def kept_columns(static: DataFrame, on: Keys | SpatialMatch) -> dict[str, str]:
    """Return the columns that a version keeps, in order: a dict from name to Spark's type."""
    dropped = None if isinstance(on, Keys) else on.relation_column
    return {
        field.name: field.dataType.simpleString()
        for field in static.schema
        if field.name != dropped
    }


def _timezone(df: DataFrame) -> str:
    return df.sparkSession.conf.get("spark.sql.session.timeZone") or "UTC"


def _by_space(
    static: DataFrame,
    on: SpatialMatch,
    partitions: int,
    task: StaticSpread,
) -> DataFrame:
    if on.by_hash:
        hashed = hash_of(key_columns(static, static.columns))
        static = static.withColumn(PARTITION, F.pmod(hashed, F.lit(partitions)).cast("int"))
    kept = [each for each in static.schema if each.name not in (PARTITION, on.relation_column)]
    added = [StructField(RELATION, ByteType()), StructField(PARTITION, IntegerType())]
    return static.mapInArrow(in_workers(static.sparkSession, task), StructType(kept + added))
