"""Compute the loads of the keys of a groupBy once, from a sample of the input or from all of it."""

from __future__ import annotations

import functools
import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys.given_columns import number_column
from evenkey.spark.keys.key_names import KeyNames, NamedRows
from evenkey.spark.keys.spark_placement import spark_loads
from evenkey.spark.plans.batch_plans import sum_costs
from evenkey.spark.plans.costly_inputs import costly_part
from evenkey.spark.plans.key_sample import Sampled, sample_keys
from evenkey.spark.sessions.task_slots import shuffle_partitions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evenkey.groupings import KeyStatistics
    from evenkey.spark.groups.group_keys import Keys


@dataclass(frozen=True)
class Side:
    """Rows with keys and costs; a cogroup has two such sides.

    Parameters
    ----------
    keys
        Keys, with the DataFrame of the rows.
    cost
        Cost of each row; None: each row costs 1.
    """

    keys: Keys
    cost: Column | None = None


class Weights:
    """Loads of the hottest keys, and of the buckets of all other keys.

    Parameters
    ----------
    sides
        Sides whose rows are counted together.
    empty
        Empty statistics, which a Spark job fills when this object is made.
    workers
        Number of workers, which determines the size of the sample.
    exact
        Whether to count all rows. Costs are always summed over all rows.
    """

    def __init__(
        self, sides: Sequence[Side], empty: KeyStatistics, workers: int, *, exact: bool
    ) -> None:
        keys = [side.keys for side in sides]
        self._sides = sides
        self.names = KeyNames(
            [NamedRows(each.frame, each.columns, each.shown, each.hashed) for each in keys]
        )
        self._by_cost = any(side.cost is not None for side in sides)
        start = time.perf_counter()
        self.error = 0.0
        """Bound on the error of a worker's load, as a share of the mean load; see `KeySample`."""
        if self._by_cost:
            costs = [side.keys.frame.select(*_costs(side)) for side in sides]
            rows = functools.reduce(DataFrame.unionAll, costs)
            self.statistics = sum_costs(rows, F.col("hash"), F.col("cost"), empty)
        else:
            partitions = shuffle_partitions(keys[0].frame.sparkSession)
            batches = [Sampled(each.frame, each.hashed, each.columns) for each in keys]
            sample = sample_keys(batches, [partitions], empty, workers, exact=exact)
            self.statistics, (self._spark_loads,), self.error = sample
        self.seconds = time.perf_counter() - start

    @property
    def of_rows(self) -> bool:
        """Whether loads are numbers of rows; otherwise they are sums of costs."""
        return not self._by_cost

    @cached_property
    def spark_loads(self) -> NDArray[np.float64]:
        """float64[partitions], the load of each task of Spark's own shuffle.

        For costs, this reads the input once more.
        """
        if self.of_rows:
            return self._spark_loads
        loads = np.zeros(shuffle_partitions(self._sides[0].keys.frame.sparkSession))
        for side in self._sides:
            loads += spark_loads(side.keys.frame, side.keys.columns, side.cost)
        return loads

    @cached_property
    def costly(self) -> str | None:
        """What makes the rows costly to compute, such as a Python function; None: nothing does."""
        read = (side.keys.frame.select(side.keys.hashed) for side in self._sides)
        return next((part for each in read if (part := costly_part(each)) is not None), None)

    @cached_property
    def heaviest(self) -> tuple[np.uint64, float]:
        """Hash of the hottest key, and its share of all load; 0 and 0.0 if there are no rows."""
        return heaviest_of(self.statistics)


def heaviest_of(statistics: KeyStatistics) -> tuple[np.uint64, float]:
    """Return the hash of the hottest key, and its share of all load; 0 and 0.0 without rows."""
    keys, loads, _ = statistics.items(0.0)
    if not len(keys) or not statistics.total:
        return np.uint64(0), 0.0
    most = int(np.argmax(loads))
    return keys[most], float(loads[most] / statistics.total)


def _costs(side: Side) -> tuple[Column, Column]:
    cost = F.lit(1.0) if side.cost is None else side.cost
    return side.keys.hashed.alias("hash"), cost.cast("double").alias("cost")


def cost_column(df: DataFrame, cost: object) -> Column | None:
    """Return the cost of a row as a column; None: no cost was passed.

    Raises
    ------
    ConfigurationError
        `cost` is neither a Column nor the name of a column of numbers.
    """
    if cost is None or isinstance(cost, Column):
        return cost
    if isinstance(cost, str):
        return number_column(df, cost, "cost")
    message = f"cost = {cost!r}: must be a column of numbers, or its name; pass cost='seconds'"
    raise ConfigurationError(message)
