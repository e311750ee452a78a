"""Cogroups: the rows of a key in two DataFrames, together on the key's worker."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.spark.groups import calls
from evenkey.spark.groups.choosing import Choice, choose
from evenkey.spark.groups.hints import arguments_of, named
from evenkey.spark.groups.weights import Side
from evenkey.spark.sessions.worker_python import in_workers

if TYPE_CHECKING:
    from collections.abc import Callable

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructType

    from evenkey.spark.groups.rows import Rows

logger = logging.getLogger(__name__)


class Cogrouped:
    """Two DataFrames grouped by the same keys, as Spark's ``cogroup`` returns them.

    The load of a key includes its rows on both sides. Options such as `grouping` and `workers` are
    the options of the first groupBy.
    """

    def __init__(self, first: Rows, second: Rows) -> None:
        self._first = first
        self._second = second

    def applyInPandas(  # noqa: N802 - Spark's name
        self, func: Callable[..., Any], schema: StructType | str
    ) -> DataFrame:
        """Call a function on the two pandas DataFrames of each key, as on Spark's cogroup.

        Parameters
        ----------
        func
            Takes the rows of both sides as two DataFrames, or the key and these DataFrames, and
            returns a pandas DataFrame.
        schema
            Schema of the rows that `func` returns.

        Raises
        ------
        ConfigurationError
            A side is a stream, the sides have different numbers of key columns, or the grouping
            cannot be used.

        Examples
        --------
        >>> import pandas as pd
        >>> from evenkey.spark import groupBy
        >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
        >>> visits = spark.range(3).selectExpr("'ann' as user", "id as visit")
        >>> def both(key, left, right):
        ...     row = (key[0], len(left), len(right))
        ...     return pd.DataFrame([row], columns=["user", "clicks", "visits"])
        >>> grouped = groupBy(clicks, "user", workers=2).cogroup(groupBy(visits, "user"))
        >>> counted = grouped.applyInPandas(both, "user string, clicks long, visits long")
        >>> counted.sort("user").collect()
        [Row(user='ann', clicks=80, visits=3), Row(user='bob', clicks=20, visits=0)]
        """
        return self._apply("applyInPandas", func, schema, arrow=False)

    def applyInArrow(  # noqa: N802 - Spark's name
        self, func: Callable[..., Any], schema: StructType | str
    ) -> DataFrame:
        """Call a function on the two Arrow tables of each key, as on Spark's cogroup.

        Parameters
        ----------
        func
            Takes the tables of both sides, or the key and these tables, and returns a table.
        schema
            Schema of the rows that `func` returns.

        Raises
        ------
        ConfigurationError
            A side is a stream, the sides have different numbers of key columns, or the grouping
            cannot be used.

        Examples
        --------
        >>> import pyarrow as pa
        >>> from evenkey.spark import groupBy
        >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
        >>> visits = spark.range(3).selectExpr("'ann' as user", "id as visit")
        >>> def both(left, right):
        ...     return pa.table({"clicks": [left.num_rows], "visits": [right.num_rows]})
        >>> grouped = groupBy(clicks, "user", workers=2).cogroup(groupBy(visits, "user"))
        >>> counted = grouped.applyInArrow(both, "clicks long, visits long")
        >>> counted.sort("clicks").collect()
        [Row(clicks=20, visits=0), Row(clicks=80, visits=3)]
        """
        return self._apply("applyInArrow", func, schema, arrow=True)

    def _apply(
        self, method: str, func: Callable[..., Any], schema: StructType | str, *, arrow: bool
    ) -> DataFrame:
        first, second = self._first, self._second
        for rows in (first, second):
            rows.check_batch(f"cogroup().{method}")
        count, other = len(first.keys.names), len(second.keys.names)
        if count != other:
            message = (
                f"cogroup: {count} keys on one side and {other} on the other; group both by the "
                "same number of keys"
            )
            raise ConfigurationError(message)
        takes_key = arguments_of(func, (2, 3)) > 2  # noqa: PLR2004 - two sides, and the key
        choice = first.choice()
        if choice.way != "spark":
            choice = choose(first.wanted, second.keys, first.workers, merges=False)
        choice = self._of_one_type(choice)
        plans = first.plans_of(*(Side(rows.keys, rows.cost) for rows in (first, second)))
        if second.cost is None:
            choice = first.settled(choice, plans)
        keys = [rows.python_keys for rows in (first, second)]
        if choice.is_plain and not any(each.user_names for each in keys):
            own_cogroup: Any = first.plain.cogroup(second.plain)
            result: DataFrame = getattr(own_cogroup, method)(func, schema)
            return result
        left, left_own = first.grouped(keys[0], choice, plans)
        right, right_own = first.grouped(keys[1], choice, plans)
        shows = [
            calls.shower(own, side.user_names, arrow=arrow)
            for own, side in zip((left_own, right_own), keys, strict=True)
        ]
        sent = in_workers(first.df.sparkSession, func)
        call = named(calls.on_cogroup(sent, shows, count, takes_key=takes_key), func)
        both: Any = left.cogroup(right)
        placed: DataFrame = getattr(both, method)(call, schema)
        return placed

    def _of_one_type(self, choice: Choice) -> Choice:
        """Return the choice, or Spark's own placement if the types of the keys differ.

        Raises
        ------
        ConfigurationError
            They differ, and a grouping was passed that places keys by load.
        """
        first = self._first
        # Types as text do not say where nulls are allowed, which does not matter.
        types, other = (
            ", ".join(kind.simpleString() for kind in rows.keys.types)
            for rows in (first, self._second)
        )
        if choice.way == "spark" or types == other:
            return choice
        reason = f"the keys are of different types, {types} and {other}"
        if first.wanted != "auto":
            message = (
                f"grouping = {first.wanted!r}: cogroup: {reason}; cast one side to the types of "
                "the other"
            )
            raise ConfigurationError(message)
        logger.warning("cogroup, %s: Spark's own placement: %s", first.shown, reason)
        return Choice("spark", reason, unasked=True)
