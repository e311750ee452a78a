"""Plans for groupings that are given the frequencies of keys: counted once, kept and followed."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.spark.plans.store_at import store_of
from evenkey.spark.plans.tables import RoutingTable, RoutingTables
from evenkey.spark.sessions.access import at_state

if TYPE_CHECKING:
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping, Snapshot


def plan_of(
    df: DataFrame,
    hashed: Column,
    grouping: Grouping,
    workers: int,
    state: str | Path | Store | None,
) -> Snapshot:
    """Give the plan in `state`; where there is none, count a batch and make it, here and now.

    Parameters
    ----------
    df
        The rows to route.
    hashed
        Hashes of their keys.
    grouping, workers
        One that is `given_frequencies`.
    state
        Place of the plan; None: it is used once.

    Raises
    ------
    ConfigurationError
        `df` is a stream and there is no plan; or the plan is another grouping's.
    """
    session, tables = df.sparkSession, None
    if state is not None:
        tables = RoutingTables(store_of(session, state), str(grouping), workers)
        kept = at_state(session, functools.partial(tables.read, 0)).memory
        if kept:
            return kept
    if df.isStreaming:
        message = (
            f"grouping {grouping}: it must know how frequent each key is before a stream's first "
            "row comes: route a batch of earlier rows with the same state=DIRECTORY before, or use "
            "a grouping that learns it, such as dkg or dchoices"
        )
        raise ConfigurationError(message)
    counts = df.groupBy(hashed.alias("key")).agg(F.count(F.lit(1)).alias("count")).toArrow()
    keys = counts["key"].to_numpy().view(np.uint64)
    plan = grouping.plan(keys, counts["count"].to_numpy().astype(np.float64), workers)
    if tables is not None:
        # Number 0 is what every epoch finds that has no table of its own.
        at_state(session, functools.partial(tables.write, 0, RoutingTable(plan)))
    return plan
