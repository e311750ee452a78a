"""Compute the loads of the keys of a groupBy once, in one more read of the input."""

from __future__ import annotations

import time
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from pyspark.sql import Column
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.spark.keys.given_columns import number_column
from evenkey.spark.keys.key_names import KeyNames, NamedRows
from evenkey.spark.plans.batch_plans import weighed

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

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
        Empty statistics, which Spark jobs fill when this object is made.
    """

    def __init__(self, sides: Sequence[Side], empty: KeyStatistics) -> None:
        keys = [side.keys for side in sides]
        self.names = KeyNames(
            [NamedRows(each.frame, each.columns, each.shown, each.hashed) for each in keys]
        )
        self._by_cost = any(side.cost is not None for side in sides)
        start = time.perf_counter()
        rows = [_weighable(side, by_cost=self._by_cost) for side in sides]
        every = rows[0]
        for more in rows[1:]:
            every = every.unionAll(more)
        cost = F.col("cost") if self._by_cost else None
        self.statistics = weighed(every, F.col("hash"), cost, empty)
        self.seconds = time.perf_counter() - start

    @property
    def of_rows(self) -> bool:
        """Whether loads are numbers of rows; otherwise they are sums of costs."""
        return not self._by_cost

    @cached_property
    def heaviest(self) -> tuple[np.uint64, float]:
        """Hash of the hottest key, and its share of all load; 0 and 0.0 if there are no rows."""
        keys, loads, _ = self.statistics.items(0.0)
        if not len(keys) or not self.statistics.total:
            return np.uint64(0), 0.0
        most = int(np.argmax(loads))
        return keys[most], float(loads[most] / self.statistics.total)


def _weighable(side: Side, *, by_cost: bool) -> DataFrame:
    columns = [side.keys.hashed.alias("hash")]
    if by_cost:
        cost = F.lit(1.0) if side.cost is None else side.cost
        columns.append(cost.cast("double").alias("cost"))
    return side.keys.frame.select(*columns)


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
