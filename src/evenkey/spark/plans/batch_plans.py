"""Read the plan of a batch from `state`, or let Spark count the keys and make a plan."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow.compute as pc
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.spark.plans.places import store_of
from evenkey.spark.plans.tables import (
    CorruptTableError,
    OtherLayoutError,
    RoutingTable,
    RoutingTables,
)
from evenkey.spark.sessions.access import at_state

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from typing import Self

    from pyspark.sql import Column, DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping, KeyStatistics, PlannedGrouping, Snapshot

_FINE = 16
MOST_TRACKED = 1_000_000
"""Maximum number of counters of `top`, which is Spark's own limit."""
_MOST_KEYS = 10_000_000
"""Maximum number of distinct keys of a plan that has every key: the driver gets all their counts,
and each Python worker the plan, at some 16 bytes a key."""


@dataclass(frozen=True)
class KeptPlan:
    """Reads the plan of an earlier query from storage, and stores a new plan for later queries.

    Parameters
    ----------
    session
        Session of the query. Over Connect, a task of this session accesses the storage.
    tables
        Tables in which plans are stored; None: plans are not stored.
    """

    session: SparkSession
    tables: RoutingTables | None

    @classmethod
    def at(
        cls, session: SparkSession, state: str | Path | Store | None, label: str, workers: int
    ) -> Self:
        """Return a `KeptPlan` for the plans in `state` that have a label, such as a grouping.

        If `state` is None, plans are not stored.
        """
        if state is None:
            return cls(session, None)
        return cls(session, RoutingTables(store_of(session, state), label, workers))

    def find(self) -> Snapshot:
        """Return the newest plan; empty if there is none.

        Raises
        ------
        RunError
            The state cannot be read.
        ConfigurationError
            The plan belongs to another grouping or worker count.
        """
        return {} if self.tables is None else at_state(self.session, self.tables.latest)

    def keep(self, memory: Snapshot) -> None:
        """Write a plan for all queries that have no plan of their own.

        Raises
        ------
        RunError
            The state cannot be written.
        """
        if self.tables is not None:
            # An epoch reads the newest table up to its own number, so every epoch can find table 0.
            write = functools.partial(self.tables.write, 0, RoutingTable(memory))
            at_state(self.session, write)


def stored_workers(
    session: SparkSession, state: str | Path | Store | None, folders: Sequence[str] = ("",)
) -> int | None:
    """Return the number of workers of the newest plan in `state`; None: there is no plan.

    An operator takes this number if the user passed none. The session's own number may differ from
    run to run, as executors come and go, and a plan is for one number of workers.

    Parameters
    ----------
    session
        Session of the query. Over Connect, a task of this session reads the plan.
    state
        Storage location of plans; None: plans are not stored.
    folders
        Folders of `state` that may have a plan; the first plan that can be read counts.

    Raises
    ------
    RunError
        The state cannot be read.
    """
    if state is None:
        return None
    store = store_of(session, state)
    stores = [store.under(each) if each else store for each in folders]
    return at_state(session, functools.partial(_workers_in, stores))


def _workers_in(stores: Sequence[Store]) -> int | None:
    for store in stores:
        try:
            RoutingTables(store, "", 1).latest()  # no table has this layout
        except OtherLayoutError as other:
            return other.workers
        except CorruptTableError:  # reading the plan for use repairs it, or raises its error
            continue
    return None


def plan_of_batch(
    df: DataFrame, hashed: Column, grouping: PlannedGrouping, workers: int, kept: KeptPlan
) -> tuple[Snapshot, bool]:
    """Return the plan for a batch, and whether every row goes exactly where the plan says.

    If `kept` has a plan and the grouping does not count every epoch, this returns that plan.
    Otherwise it counts the keys of the batch and makes a plan. Every row goes where the plan says
    if the plan was made from the batch itself or from costs. Under any other plan, rows of keys
    that are hot unexpectedly may go to other workers.
    """
    plan = kept.find()
    counts = grouping.counts_ahead if plan else grouping.counts_first({})
    if not counts:
        return plan, "counted" in plan
    plan = plan_near(df, hashed, None, grouping, workers, plan)
    kept.keep(plan)
    return plan, True


def needs_plan(grouping: Grouping) -> bool:
    """Return whether a grouping must know the frequencies of keys before it routes."""
    return grouping.given_frequencies and not grouping.learns


def plan_by_frequencies(
    df: DataFrame, hashed: Column, grouping: Grouping, workers: int, kept: KeptPlan
) -> Snapshot:
    """Return the plan for a grouping that must know the frequencies of keys before it routes.

    If no plan is stored, this counts the keys of the batch, makes a plan and stores it.

    Raises
    ------
    ConfigurationError
        `df` is a stream and there is no plan, the plan belongs to another grouping, or there are
        more than `_MOST_KEYS` keys.
    """
    plan = kept.find()
    if plan:
        return plan
    if df.isStreaming:
        message = (
            f"grouping {grouping}: it must know how frequent each key is before the first row of a "
            "stream comes: first route a batch of earlier rows with the same state=DIRECTORY, or "
            "use a grouping that learns these frequencies, such as dkg or dchoices"
        )
        raise ConfigurationError(message)
    counted = df.groupBy(hashed.alias("key")).agg(F.count(F.lit(1)).alias("count"))
    counts = counted.limit(_MOST_KEYS + 1).toArrow()
    if len(counts) > _MOST_KEYS:
        message = (
            f"grouping {grouping}: the batch has more than {_MOST_KEYS:,} distinct keys, and its "
            "plan has every key: use planned, whose plan has only the hottest"
        )
        raise ConfigurationError(message)
    keys = counts["key"].to_numpy().view(np.uint64)
    plan = grouping.plan(keys, counts["count"].to_numpy().astype(np.float64), workers)
    kept.keep(plan)
    return plan


def plan_near(
    df: DataFrame,
    hashed: Column,
    cost: Column | None,
    grouping: PlannedGrouping,
    workers: int,
    before: Snapshot,
) -> Snapshot:
    """Compute the load of each key of a batch, and make a plan that moves few keys.

    The load of a key is its number of rows, or its total cost if `cost` is given. `before` is the
    previous plan; empty: there is none.
    """
    # A plan that balances numbers of keys needs those of all buckets, which sketches do not count.
    load = F.lit(1.0) if cost is None and grouping.even_keys else cost
    statistics = weighed(df, hashed, load, grouping.statistics(workers))
    return grouping.fitted(statistics, workers, before, of_messages=cost is None)


def weighed(
    df: DataFrame, hashed: Column, cost: Column | None, empty: KeyStatistics
) -> KeyStatistics:
    """Compute the load of each key of a batch: the number or the total cost of the key's rows.

    Parameters
    ----------
    df
        Batch.
    hashed
        Column of the hash of each row's key.
    cost
        Column of the cost of each row; None: each row costs the same.
    empty
        Statistics to fill and return.

    Raises
    ------
    ConfigurationError
        The costs of a key add up to a negative number, or to NaN or infinity.
    """
    if cost is None:
        return count_keys(df, hashed, empty)
    return sum_costs(df, hashed, cost, empty)


def count_keys(df: DataFrame, hashed: Column, empty: KeyStatistics) -> KeyStatistics:
    """Count the keys of a batch DataFrame in one pass, with Spark's own expressions.

    The counts of the hottest keys come from Spark's sketch ``approx_top_k``. A second such sketch
    counts the keys of each bucket of hashes. Its counts are exact, because it has more counters
    than there are buckets.
    """
    (row,) = df.select(hashed.alias("hash")).agg(*sketches(F.col("hash"), empty)).collect()
    return filled(empty, row.asDict(recursive=True))


def sum_costs(df: DataFrame, hashed: Column, cost: Column, empty: KeyStatistics) -> KeyStatistics:
    """Sum the costs of a batch DataFrame by key; a null cost counts 0.

    Sums are exact. Each bucket is divided into `_FINE` smaller buckets. The driver tracks the most
    expensive key of each smaller bucket individually. The costs of all other keys count as load of
    their bucket.
    """
    by_key = df.groupBy(hashed.alias("hash")).agg(F.sum(cost.cast("double")).alias("cost"))
    costs = by_key.withColumn("cost", F.coalesce("cost", F.lit(0.0)))
    fine = F.col("hash").bitwiseAND(F.lit(_FINE * len(empty.bucket_loads) - 1))
    figures = [
        F.sum("cost").alias("cost"),
        F.min("cost").alias("least"),
        F.max(F.struct("cost", "hash")).alias("heaviest"),
        F.count(F.lit(1)).alias("keys"),
    ]
    sums = costs.groupBy(fine.alias("fine")).agg(*figures).toArrow()
    loads, least = sums["cost"].to_numpy(), sums["least"].to_numpy()
    wrong = np.append(loads[~np.isfinite(loads)], least[least < 0])
    if len(wrong):
        message = (
            f"cost: the rows of some key cost {wrong[0]} together; a key's costs must add up to a "
            "finite number of at least 0"
        )
        raise ConfigurationError(message)
    keys = pc.struct_field(sums["heaviest"], "hash").to_numpy().view(np.uint64)
    empty.add_counted(keys, pc.struct_field(sums["heaviest"], "cost").to_numpy())
    count = len(empty.bucket_loads)
    buckets = sums["fine"].to_numpy() & (count - 1)
    empty.bucket_loads = np.bincount(buckets, loads, minlength=count).astype(np.float64)
    of_keys = np.bincount(buckets, sums["keys"].to_numpy(), minlength=count)
    empty.bucket_keys = of_keys.astype(np.int64)
    return empty


def sketches(hashed: Column, empty: KeyStatistics) -> list[Column]:
    """Return the aggregate expressions whose values `filled` turns into statistics.

    Raises
    ------
    ConfigurationError
        There are more buckets than Spark can count.
    """
    tracked, buckets = empty.sketch.capacity, len(empty.bucket_loads)
    if buckets > MOST_TRACKED:
        message = (
            f"planned: buckets = {buckets}: Spark counts at most {MOST_TRACKED}; pass "
            "buckets=524288 or less"
        )
        raise ConfigurationError(message)
    bucket = hashed.bitwiseAND(F.lit(buckets - 1))
    return [
        top(hashed, tracked, 4 * tracked).alias("keys"),
        # Rows without a hash, which a stream does not count, are one further value.
        top(bucket, buckets + 1, 2 * buckets).alias("buckets"),
    ]


def top(column: Column, k: int, counters: int) -> Column:
    """Return the aggregate that finds the k most frequent values of a column, with counters.

    Its counts are exact if there are no more distinct values than counters.
    """
    counters = min(counters, MOST_TRACKED)
    return F.call_function("approx_top_k", column, F.lit(min(k, counters)), F.lit(counters))


def filled(empty: KeyStatistics, values: Mapping[str, Any]) -> KeyStatistics:
    """Fill statistics with the values of the aggregates that `sketches` returned."""
    keys, counts = items_of(values["keys"])
    buckets, loads = items_of(values["buckets"])
    of_buckets = np.zeros(len(empty.bucket_loads))
    of_buckets[buckets] = loads
    empty.add_hottest(keys.view(np.uint64), counts, of_buckets)
    return empty


def items_of(
    rows: Iterable[Mapping[str, Any]],
) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
    """Return the values that `top` found, int64, and their counts, float64; nulls are left out."""
    known = [(row["item"], row["count"]) for row in rows if row.get("item") is not None]
    items = np.array([item for item, _ in known], dtype=np.int64)
    return items, np.array([count for _, count in known], dtype=np.float64)
