"""The initial states of a new query: one row for each value, list, map entry and timer of a key."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pyspark import cloudpickle
from pyspark.sql import functions as F

from evenkey.core.stores import LocalStore
from evenkey.spark.moves import restoring
from evenkey.spark.sessions import in_workers

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame, SparkSession

    from evenkey.core.stores import Store
    from evenkey.spark.moves.moved_state import MovedState

cloudpickle.register_pickle_by_value(restoring)  # type: ignore[no-untyped-call]

COLUMNS = ("variable", "content_{}", "timer", "key_{}")
"""Columns of the files: number of the variable (`restoring.TIMER`: a timer), the content of each
variable, the expiry of a timer in milliseconds, and the columns of the key."""
_NUMBER, _CONTENT = "__evenkey_variable", "__evenkey_content"


def initial_rows(
    session: SparkSession, store: Store, moved: MovedState, keys: Sequence[str], own: Sequence[str]
) -> DataFrame:
    """Return the initial states as `Restoring` takes them.

    Parameters
    ----------
    session
        Session of the new query.
    store
        Store of the state directory.
    moved
        The record of the moved state.
    keys
        Names of the key columns.
    own
        Those of `keys` which evenkey adds to the user's rows. They become the last columns, as
        there.
    """
    rows = session.read.parquet(spark_path(store, moved.folder))
    contents = [COLUMNS[1].format(number) for number in range(len(moved.variables))]
    columns = [*contents, COLUMNS[2]]
    # The last field of a row has the index -1, which is the number of a timer.
    kinds = {number: rows.schema[name].dataType for number, name in enumerate(contents)}
    kinds[restoring.TIMER] = rows.schema[COLUMNS[2]].dataType
    pack = F.udf(in_workers(session, restoring.packing(kinds)), "binary", useArrow=False)
    named = {name: F.col(COLUMNS[3].format(number)) for number, name in enumerate(keys)}
    return rows.select(
        *(column.alias(name) for name, column in named.items() if name not in own),
        F.col(COLUMNS[0]).alias(_NUMBER),
        pack(F.col(COLUMNS[0]), F.struct(*columns)).alias(_CONTENT),
        *(named[name].alias(name) for name in own),
    )


def spark_path(store: Store, name: str = "") -> str:
    """Return the path of a store, or of a folder in it, as Spark reads it.

    Where Spark's default file system is not that of this machine, Spark would look for a path
    without a scheme elsewhere.

    Examples
    --------
    >>> from evenkey.core.stores import LocalStore
    >>> spark_path(LocalStore("/srv/state"), "rebalanced")
    'file:///srv/state/rebalanced'
    """
    path = store.path(name) if name else store.url
    return f"file://{path}" if isinstance(store, LocalStore) and path.startswith("/") else path
