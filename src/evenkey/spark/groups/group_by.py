"""`groupBy`: Spark's methods under the same names, with keys placed by their load."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

from pyspark import cloudpickle

from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.groups import calls
from evenkey.spark.groups.cogrouped import Cogrouped
from evenkey.spark.groups.combining import Combining
from evenkey.spark.groups.explain_groups import TO_SPLIT
from evenkey.spark.groups.hints import arguments_of
from evenkey.spark.groups.merging import applied, merged, merging, of_parts, wrapped
from evenkey.spark.groups.rows import Rows, check_kind
from evenkey.spark.groups.stateful import Stateful
from evenkey.spark.groups.texts import KeyTexts

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame, GroupedData
    from pyspark.sql.types import StructType

    from evenkey.core.stores import Store
    from evenkey.groupings import Grouping
    from evenkey.spark.groups.group_keys import Keys

    Function = Callable[..., Any]
    Schema = StructType | str

cloudpickle.register_pickle_by_value(calls)  # type: ignore[no-untyped-call]


def groupBy(  # noqa: N802 - Spark's name
    df: DataFrame,
    *keys: str | Column | int | Sequence[str | Column | int],
    workers: int | None = None,
    grouping: str | Grouping = "auto",
    state: str | Path | Store | None = None,
    cost: str | Column | None = None,
    exact: bool = False,
) -> Grouped:
    """Group rows as ``df.groupBy(*keys)`` does, with balanced workers.

    Parameters
    ----------
    df
        Batch or streaming, of a classic session or over Connect.
    keys
        As for ``df.groupBy``: names, columns or positions, which start at 1; or one list of these.
    workers
        Number of tasks over which the keys are spread, at least 1. None: the number of the plan in
        `state`. If there is no plan, the number of tasks that the session runs concurrently; in a
        stream, ``spark.sql.shuffle.partitions``.
    grouping
        ``auto``: keys are split only if `merge` of `Grouped.applyInPandas` merges their parts.
        ``whole``: no key is split. ``planned``, with or without parameters: keys are split.
        ``spark``: Spark's own placement.
    state
        Storage location of the plan, a path or URI. If the location has a plan already, this plan
        is used, and the keys are not counted first. Instead Spark counts them while it shuffles the
        rows, and the next call follows a plan from these counts. If there is no plan yet, the input
        is costly to compute (`explain` says so), and neither `grouping` nor `exact` is passed,
        Spark places the keys of this run, which counts them. A plan by `fit`, by `rebalance` or by
        `cost` is never changed. The first call with `cost` replaces a plan that calls without it
        have made. None: the plan is not stored.
    cost
        Column with the cost of each row, such as measured seconds, or its name; None: each row
        costs the same.
    exact
        Whether to count the rows of every key. By default loads are estimated from a sample, whose
        size depends on `workers` and on the number of partitions; the first 20,000 rows of each
        partition or more are all counted. The error is a matter of balance only: results are
        exact. `explain` states its bound. Costs are always summed over all rows. If Spark counts
        keys while it shuffles rows, for the next plan in `state`, it always counts a sample.

    Returns
    -------
    Grouped
        An object with the methods of Spark's ``GroupedData``. Keys are counted when a method first
        needs the counts. If only keys are passed, and none is hot, Spark places the keys itself.
        `explain` says how keys are placed.

    Raises
    ------
    ConfigurationError
        `df` is not a DataFrame, a key is not a column, or another argument is invalid.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> def last(rows):
    ...     return rows.nlargest(1, "id")
    >>> groupBy(clicks, "user", workers=2).applyInPandas(last, clicks.schema).sort("user").collect()
    [Row(user='ann', id=98), Row(user='bob', id=99)]
    """
    return Grouped(Rows(df, keys, workers, grouping, state, cost, exact=exact))


class Grouped(Combining, Stateful):
    """Rows grouped by key, with the methods of Spark's ``GroupedData`` under the same names.

    `groupBy` returns an instance.

    Aggregates for which Spark combines rows before its shuffle (``agg``, ``count``, ``sum`` and
    similar) are Spark's own. Functions on all rows of a key (``applyInPandas``, ``applyInArrow``,
    ``cogroup``) get the same keys, rows and columns as with Spark's own groupBy. Only the placement
    of keys differs: Spark counts the keys in one more read of the input. Then each key goes to the
    least loaded worker, hottest first, so that two hot keys do not share a worker while another
    worker is free. Rows move to their workers in one shuffle of Spark's own, without Python. So the
    rows of a key come in any order, also if `df` was partitioned and sorted by key. Spark's own
    groupBy does not shuffle such rows: use it, or sort in the function.

    Guarantee: the maximum load of a worker is at most 4/3 of the least maximum that is possible
    without splitting keys (Graham 1969).

    Parameters
    ----------
    rows
        The rows and their keys.

    Examples
    --------
    >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
    >>> grouped = groupBy(clicks, "user")
    >>> isinstance(grouped, Grouped)
    True
    >>> grouped.count().sort("user").collect()
    [Row(user='ann', count=80), Row(user='bob', count=20)]
    """

    def __repr__(self) -> str:
        rows = self.rows
        return f"Grouped({', '.join(map(str, rows.listed))}; {rows.df})"

    def apply(self, udf: Any) -> DataFrame:
        """Apply `udf`, a pandas UDF of kind ``GROUPED_MAP``, as Spark's own ``apply``.

        Use `applyInPandas` in new code.

        Parameters
        ----------
        udf
            A pandas UDF of kind ``GROUPED_MAP``.

        Raises
        ------
        ConfigurationError
            The rows are a stream, the grouping is invalid, or the plan in `state` is for other
            keys.
        """
        from pyspark.util import PythonEvalType

        kind = getattr(udf, "evalType", None)
        if kind != PythonEvalType.SQL_GROUPED_MAP_PANDAS_UDF:
            return self.rows.plain.apply(udf)  # raises Spark's own error
        message = "It is preferred to use 'applyInPandas' over this API"
        warnings.warn(message, UserWarning, stacklevel=2)
        return self.applyInPandas(udf.func, udf.returnType)

    def applyInPandas(  # noqa: N802 - Spark's name
        self,
        func: Function,
        schema: Schema,
        *,
        merge: Function | Column | Sequence[Column] | dict[str, str] | None = None,
        merge_schema: Schema | None = None,
    ) -> DataFrame:
        """Call a function on the rows of each key, as Spark's ``applyInPandas``.

        With `merge`, a key with too much load for one worker is split over several workers. `func`
        is called on each part of a key. Then the results of each key are merged, also if the key
        was not split. A key for which `func` returned no rows is not merged.

        Parameters
        ----------
        func
            Takes a pandas DataFrame, or the key and a DataFrame, and returns a DataFrame. If its
            type hints say so, it takes and returns iterators of DataFrames instead.
        schema
            Schema of the rows that `func` returns.
        merge
            A function like `func`, called on all rows that `func` returned for one key, in any
            order. Or Spark's aggregates of the columns of these rows, as for ``agg``: a column,
            such as ``F.sum("total").alias("total")``, a list of columns, or a dict of column to
            function. With aggregates, the result has the columns of the key and of the aggregates,
            and no second function is called. None: no key is split.
        merge_schema
            Schema of the rows that the function `merge` returns; None: `schema`.

        Returns
        -------
        DataFrame
            The results; without `merge`, each partition has the results of one worker.

        Raises
        ------
        ConfigurationError
            The rows are a stream, a function takes a wrong number of arguments, the grouping is
            invalid, `merge` does not support the type of a key, or the plan in `state` is for other
            keys.
        RunError
            `state` cannot be read or written.

        Examples
        --------
        >>> who = "if(id % 5 < 4, 'ann', 'bob') as user"
        >>> clicks = spark.range(100).selectExpr(who, "id % 7 as amount")
        >>> def typical(key, rows):
        ...     return rows.groupby("user", as_index=False)["amount"].median()
        >>> grouped = groupBy(clicks, "user", workers=2)
        >>> grouped.applyInPandas(typical, "user string, amount double").sort("user").collect()
        [Row(user='ann', amount=3.0), Row(user='bob', amount=3.0)]

        Sums of parts can be added up. So the rows of `ann`, which are too many for one of two
        workers, may be split.

        >>> from pyspark.sql import functions as F
        >>> def spent(rows):
        ...     return rows[["amount"]].sum().to_frame().T
        >>> total = F.sum("amount").alias("amount")
        >>> grouped.applyInPandas(spent, "amount long", merge=total).sort("user").collect()
        [Row(user='ann', amount=238), Row(user='bob', amount=57)]
        """
        return self._apply("applyInPandas", func, schema, merge, merge_schema)

    def applyInArrow(  # noqa: N802 - Spark's name
        self,
        func: Function,
        schema: Schema,
        *,
        merge: Function | Column | Sequence[Column] | dict[str, str] | None = None,
        merge_schema: Schema | None = None,
    ) -> DataFrame:
        """Call a function on the rows of each key, as Spark's ``applyInArrow``.

        Parameters
        ----------
        func
            Takes an Arrow table, or the key and a table, and returns a table. If its type hints say
            so, it takes and returns iterators of record batches instead.
        schema
            Schema of the rows that `func` returns.
        merge
            A function like `func`, called on all rows that `func` returned for one key, in any
            order. Or Spark's aggregates of the columns of these rows, as for ``agg``: a column, a
            list of columns, or a dict of column to function. None: no key is split.
        merge_schema
            Schema of the rows that the function `merge` returns; None: `schema`.

        Raises
        ------
        ConfigurationError
            The rows are a stream, a function takes a wrong number of arguments, the grouping is
            invalid, `merge` does not support the type of a key, or the plan in `state` is for other
            keys.
        RunError
            `state` cannot be read or written.

        Examples
        --------
        >>> import pyarrow as pa
        >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
        >>> def size(key, rows):
        ...     return pa.table({"user": [key[0].as_py()], "clicks": [rows.num_rows]})
        >>> grouped = groupBy(clicks, "user", workers=2)
        >>> grouped.applyInArrow(size, "user string, clicks long").sort("user").collect()
        [Row(user='ann', clicks=80), Row(user='bob', clicks=20)]

        With `merge` the rows of `ann` may be split, and Spark adds up the results of the parts.

        >>> from pyspark.sql import functions as F
        >>> def part(rows):
        ...     return pa.table({"clicks": [rows.num_rows]})
        >>> total = F.sum("clicks").alias("clicks")
        >>> grouped.applyInArrow(part, "clicks long", merge=total).sort("user").collect()
        [Row(user='ann', clicks=80), Row(user='bob', clicks=20)]
        """
        return self._apply("applyInArrow", func, schema, merge, merge_schema)

    def _apply(
        self, method: str, func: Function, schema: Schema, merge: Any, merge_schema: Schema | None
    ) -> DataFrame:
        rows, arrow = self.rows, method == "applyInArrow"
        rows.check_batch(method)
        choice = rows.choice(merges=merge is not None)
        keys = rows.python_keys
        if merge is not None:
            way_of_merging = merging(merge, merge_schema)
            texts = KeyTexts(keys)

            def parts(spelled: Keys) -> tuple[GroupedData, Sequence[str]]:
                return rows.grouped(spelled, rows.settled(choice))

            results = of_parts(parts, keys, texts, func, schema, arrow=arrow)
            given = schema if merge_schema is None else merge_schema
            return merged(results, keys, texts, way_of_merging, given, arrow=arrow)
        if merge_schema is not None:
            message = f"merge_schema = {shown(merge_schema)}: there is no merge; pass merge= too"
            raise ConfigurationError(message)
        if choice.way != "spark":
            # Counting keys takes time, so first check that the function can be called.
            arguments_of(func, (1, 2))
            choice = rows.settled(choice)
        if choice.is_plain and not keys.user_names:
            result: DataFrame = getattr(rows.plain, method)(func, schema)
            return result
        grouped, own = rows.grouped(keys, choice, remedy=TO_SPLIT)
        return applied(grouped, wrapped(func, keys, own, arrow=arrow), schema, arrow=arrow)

    def cogroup(self, other: Grouped) -> Cogrouped:
        """Combine the groups of two frames, as Spark's ``cogroup``.

        Parameters
        ----------
        other
            The result of `groupBy` for the other frame.

        Raises
        ------
        ConfigurationError
            `other` is not a result of evenkey's `groupBy`.

        Examples
        --------
        >>> import pandas as pd
        >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
        >>> visits = spark.range(3).selectExpr("'ann' as user", "id as visit")
        >>> def both(key, left, right):
        ...     row = (key[0], len(left), len(right))
        ...     return pd.DataFrame([row], columns=["user", "clicks", "visits"])
        >>> grouped = groupBy(clicks, "user", workers=2).cogroup(groupBy(visits, "user", workers=2))
        >>> counted = grouped.applyInPandas(both, "user string, clicks long, visits long")
        >>> counted.sort("user").collect()
        [Row(user='ann', clicks=80, visits=3), Row(user='bob', clicks=20, visits=0)]
        """
        check_kind(other, Grouped, "other")
        return Cogrouped(self.rows, other.rows)
