"""Aggregate a groupBy with Spark's own methods, which combine rows before the shuffle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column

from evenkey.aggregators import WORKER, Aggregator
from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.aggregates.aggregation import aggregate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData

    from evenkey.spark.groups.rows import Rows


class Combining:
    """Aggregates by key. Spark combines rows before its shuffle, so hot keys do no harm.

    Parameters
    ----------
    rows
        Rows and their keys.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def agg(self, *exprs: Any, **named: Any) -> DataFrame:
        """Aggregate by key, as Spark's ``agg``.

        Parameters
        ----------
        exprs
            Columns, or one dict of column to function, as for Spark's ``agg``. Or evenkey's
            aggregators, such as a fold: balanced workers aggregate parts of keys, and the parts are
            merged. With one aggregator, the result has the columns of that aggregator. With several
            aggregators, the result has one column for each, named by what the aggregator computes,
            such as ``sum(amount)`` or ``count``.
        named
            Further aggregators of evenkey for the same pass, by the names of their results:
            ``orders="count", revenue=Sum("amount")``. Or Spark's columns, by the names of
            their results.

        Raises
        ------
        ConfigurationError
            evenkey's aggregators and Spark's columns are mixed, two results have the same name, or
            `aggregate` raises this error.

        Examples
        --------
        >>> from evenkey import Sum
        >>> from evenkey.aggregators import Count
        >>> from evenkey.spark import groupBy
        >>> clicks = spark.range(100).selectExpr("if(id % 5 < 4, 'ann', 'bob') as user", "id")
        >>> groupBy(clicks, "user", workers=2).agg(Count(), Sum("id")).sort("user").collect()
        [Row(user='ann', count=80, sum(id)=3920), Row(user='bob', count=20, sum(id)=1030)]
        """
        ours = [each for each in exprs if isinstance(each, Aggregator)]
        by_name = {name: each for name, each in named.items() if isinstance(each, Column)}
        if not ours and len(by_name) == len(named):
            columns = [column.alias(name) for name, column in by_name.items()]
            return self.rows.plain.agg(*exprs, *columns)
        if by_name or len(ours) < len(exprs):
            message = (
                f"agg: {', '.join(map(shown, (*exprs, *named.values())))}: evenkey's aggregators "
                "and Spark's expressions cannot be mixed; call agg for each kind, and join the "
                "results by key"
            )
            raise ConfigurationError(message)
        if len(ours) == 1 and not named:
            return _aggregated(self.rows, {"aggregator": ours[0]})
        members: dict[str, Any] = {}
        for name, each in (*((_name_of(each), each) for each in ours), *named.items()):
            if name in members:
                message = (
                    f"agg: two results are named {name!r}; name them: agg(first={each}, second=...)"
                )
                raise ConfigurationError(message)
            members[name] = each
        return _aggregated(self.rows, {"aggregators": members})

    def count(self) -> DataFrame:
        """Count the rows of each key, as Spark's ``count``."""
        return self.rows.plain.count()

    def sum(self, *cols: str) -> DataFrame:
        """Sum columns of numbers by key, as Spark's ``sum``."""
        return self.rows.plain.sum(*cols)

    def avg(self, *cols: str) -> DataFrame:
        """Average columns of numbers by key, as Spark's ``avg``."""
        return self.rows.plain.avg(*cols)

    def mean(self, *cols: str) -> DataFrame:
        """Average columns of numbers by key, as Spark's ``mean``."""
        return self.rows.plain.mean(*cols)

    def min(self, *cols: str) -> DataFrame:
        """Compute the least value of columns by key, as Spark's ``min``."""
        return self.rows.plain.min(*cols)

    def max(self, *cols: str) -> DataFrame:
        """Compute the greatest value of columns by key, as Spark's ``max``."""
        return self.rows.plain.max(*cols)

    def pivot(self, pivot_col: str, values: list[Any] | None = None) -> GroupedData:
        """Pivot a column, as Spark's ``pivot``; the result is Spark's own ``GroupedData``.

        Raises
        ------
        ConfigurationError
            The rows are a stream, which Spark cannot pivot because it does not know the values.
        """
        if self.rows.df.isStreaming:
            message = (
                f"pivot_col = {shown(pivot_col)}: Spark cannot pivot a stream; call pivot in "
                "foreachBatch, or aggregate each value by itself: "
                "agg(F.sum(F.when(F.col('kind') == 'a', F.col('amount'))))"
            )
            raise ConfigurationError(message)
        return self.rows.plain.pivot(pivot_col, values)


def _name_of(aggregator: Aggregator) -> str:
    """Return the name of a result column, such as ``sum(amount)``, as Spark would name it."""
    columns = ", ".join(name for name in aggregator.columns if name not in ("key", WORKER))
    return f"{aggregator.name}({columns})" if columns else aggregator.name


def _aggregated(rows: Rows, asked: dict[str, Any]) -> DataFrame:
    """Aggregate by key as `aggregate` does, under the plan that the groupBy follows.

    Parameters
    ----------
    rows
        Rows of a batch, and their keys.
    asked
        Argument ``aggregator`` or ``aggregators`` of `aggregate`.

    Raises
    ------
    ConfigurationError
        The rows are a stream or have no key, there is a cost, or `aggregate` raises this error.
    """
    if rows.df.isStreaming:
        message = (
            "agg: evenkey aggregates a stream in windows; call eks.aggregate(df, key, "
            "..., time=..., window=...)"
        )
        raise ConfigurationError(message)
    if not rows.keys.names:
        message = "agg: evenkey aggregates by key; name one, as in eks.groupBy(df, 'customer')"
        raise ConfigurationError(message)
    if rows.cost is not None:
        message = "agg: evenkey's aggregators do not use a cost per row; leave out cost"
        raise ConfigurationError(message)
    grouping = "kg" if rows.wanted == "spark" else rows.grouping
    names, state = rows.keys.names, rows.state
    found = aggregate(rows.keys.frame, names, grouping, rows.workers, state=state, **asked)
    shown = dict(zip(names, rows.keys.shown, strict=True))
    return found.toDF(*(shown.get(name, name) for name in found.columns))
