"""Write the states of an old query as Parquet, and plan their keys anew."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark.errors import PySparkException
from pyspark.sql import functions as F
from pyspark.sql.types import NumericType

from evenkey.core.errors import ConfigurationError
from evenkey.groupings import PlannedGrouping
from evenkey.spark.groups.group_keys import Keys
from evenkey.spark.groups.group_plans import GroupPlans
from evenkey.spark.groups.weights import Side, Weights
from evenkey.spark.keys.given_columns import quoted, unlogged_errors
from evenkey.spark.moves.initial_rows import COLUMNS, spark_path
from evenkey.spark.rebalancing.old_state import naming, unequal_keys

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.groupings import KeyStatistics
    from evenkey.spark.rebalancing.old_state import OldState


def write_states(
    session: SparkSession,
    store: Store,
    folder: str,
    found: OldState,
    workers: int,
    cost: str | None,
    origin: str,
) -> tuple[int, int]:
    """Write states to a folder of a state directory, and the plan of their keys beside it.

    Parameters
    ----------
    session
        Session in which Spark reads and writes.
    store, folder
        State directory, and the name of the folder.
    found
        The states.
    workers
        Number of workers of the plan.
    cost
        As for `rebalance`.
    origin
        What the plan was made from, which it states.

    Returns
    -------
    tuple
        Number of states and number of timers.

    Raises
    ------
    ConfigurationError
        A key is a null number or NaN, or `cost` is not an expression of a number.
    RunError
        Spark cannot read or write the states, or the plan cannot be written.
    """
    path = spark_path(store, folder)
    keys = [COLUMNS[3].format(number) for number in range(len(found.key_types))]
    with naming(origin):
        found.rows.write.parquet(path)
        written = session.read.parquet(path)
        rows, timers, unequal = written.agg(
            F.count(F.lit(1)),
            F.count(COLUMNS[2]),
            F.count(F.when(unequal_keys(written, keys), 1)),
        ).collect()[0]
    if unequal:
        message = (
            f"{origin} has {unequal} values of keys that are null numbers or NaN: Spark passes "
            "the rows of such a key to Python before its initial state; start a new query, with "
            "the key as text"
        )
        raise ConfigurationError(message)
    named = written.select(
        *keys,
        COLUMNS[0],
        COLUMNS[2],
        *(
            F.col(COLUMNS[1].format(number)).alias(each.name)
            for number, each in enumerate(found.variables)
        ),
    )
    costs = _items(found) if cost is None else _checked(named, cost)

    def weigh(empty: KeyStatistics) -> Weights:
        side = Side(Keys(named, tuple(keys), (), found.keys or tuple(keys)), costs)
        return Weights([side], empty, workers, exact=True)

    plans = GroupPlans(session, found.keys, PlannedGrouping(), workers, store, weigh)
    plans.make("whole", origin)
    return rows - timers, timers


def _items(found: OldState) -> Column:
    """Return the cost of a row by default: the elements of a list, otherwise 1."""
    sizes = [
        F.when(F.col(COLUMNS[0]) == number, F.size(quoted(each.name)))
        for number, each in enumerate(found.variables)
        if each.kind == "list"
    ]
    return F.coalesce(*sizes, F.lit(1))


def _checked(rows: DataFrame, cost: str) -> Column:
    """Return a cost that the user passed as text.

    Raises
    ------
    ConfigurationError
        It is not an expression over the state variables, or not one of a number.
    """
    try:
        with unlogged_errors():
            kind = rows.select(F.expr(cost)).schema[0].dataType
    except PySparkException as error:
        says = next(iter(str(error).strip().splitlines()), "").rstrip(".")
        message = (
            f"cost = {cost!r}: {says}; pass an expression over the state variables, such as seen.n"
        )
        raise ConfigurationError(message) from error
    if not isinstance(kind, NumericType):
        message = (
            f"cost = {cost!r} is of type {kind.simpleString()}: pass an expression of a number"
        )
        raise ConfigurationError(message)
    return F.expr(cost)
