"""What Spark combines before its shuffle: its own aggregates, under its own names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column

from evenkey.aggregators import WORKER, Aggregator
from evenkey.core.checking import shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.groups.group_aggregators import aggregated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData

    from evenkey.spark.groups.rows import Rows


class Combining:
    """Aggregates by key, by Spark alone: hot keys do not hurt what is combined before the shuffle.

    Parameters
    ----------
    rows
        By key.
    """

    def __init__(self, rows: Rows) -> None:
        self.rows = rows

    def agg(self, *exprs: Any, **named: Any) -> DataFrame:
        """Aggregate by key, as Spark's ``agg``.

        Parameters
        ----------
        exprs
            Columns, or one dict of column to function: Spark's own. Or evenkey's aggregators,
            such as a fold: parts of keys are aggregated on balanced workers, and merged. The
            result of one has the columns of that aggregator; each of several is one column, named
            by what it computes, such as ``sum(amount)`` or ``count``.
        named
            Further ones of evenkey's aggregators in the same pass, by the names of their results:
            ``orders="count", revenue=Sum("amount")``; or columns of Spark's by theirs.

        Raises
        ------
        ConfigurationError
            Aggregators of both kinds together, two of one name, or as `aggregate` does.

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
                "and Spark's expressions are computed apart; call agg for each kind, and join the "
                "results by key"
            )
            raise ConfigurationError(message)
        if len(ours) == 1 and not named:
            return aggregated(self.rows, {"aggregator": ours[0]})
        members: dict[str, Any] = {}
        for name, each in (*((_name_of(each), each) for each in ours), *named.items()):
            if name in members:
                message = (
                    f"agg: two results are named {name!r}; name them: agg(first={each}, second=...)"
                )
                raise ConfigurationError(message)
            members[name] = each
        return aggregated(self.rows, {"aggregators": members})

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
        """Give the least value of columns by key, as Spark's ``min``."""
        return self.rows.plain.min(*cols)

    def max(self, *cols: str) -> DataFrame:
        """Give the greatest value of columns by key, as Spark's ``max``."""
        return self.rows.plain.max(*cols)

    def pivot(self, pivot_col: str, values: list[Any] | None = None) -> GroupedData:
        """Pivot a column, as Spark's ``pivot``; the result is Spark's own ``GroupedData``.

        Raises
        ------
        ConfigurationError
            The rows are a stream, whose values Spark cannot know; it has no pivot there.
        """
        if self.rows.df.isStreaming:
            message = (
                f"pivot_col = {shown(pivot_col)}: Spark pivots no stream; call pivot in "
                "foreachBatch, or aggregate each value by itself: "
                "agg(F.sum(F.when(F.col('kind') == 'a', F.col('amount'))))"
            )
            raise ConfigurationError(message)
        return self.rows.plain.pivot(pivot_col, values)


def _name_of(aggregator: Aggregator) -> str:
    """Name a result by what computes it, as Spark names those of its functions."""
    columns = ", ".join(name for name in aggregator.columns if name not in ("key", WORKER))
    return f"{aggregator.name}({columns})" if columns else aggregator.name
