"""What Spark combines before its shuffle: its own aggregates, under its own names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import Column

from evenkey.aggregators import Aggregator
from evenkey.checking import shown
from evenkey.errors import ConfigurationError
from evenkey.spark.grouped.aggregated import aggregated

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, GroupedData

    from evenkey.spark.grouped.rows import Rows


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
            Columns, or one dict of column to function: Spark's own. Or one of evenkey's
            aggregators, such as a fold: parts of keys are aggregated on balanced workers, and
            merged.
        named
            Several of evenkey's aggregators in one pass, by the names of their results:
            ``orders="count", revenue=Sum("amount")``; or columns of Spark's by theirs.

        Raises
        ------
        ConfigurationError
            Aggregators of both kinds together; as `aggregate` does.
        """
        ours = [each for each in exprs if isinstance(each, Aggregator)]
        by_name = {name: each for name, each in named.items() if isinstance(each, Column)}
        if not ours and len(by_name) == len(named):
            columns = [column.alias(name) for name, column in by_name.items()]
            return self.rows.plain.agg(*exprs, *columns)
        if by_name or len(exprs) > (0 if named else 1):
            message = (
                f"agg: {', '.join(map(shown, (*exprs, *named.values())))}: evenkey's aggregators "
                "and Spark's expressions are computed apart; call agg for each kind, several of "
                "evenkey's by name, and join the results by key"
            )
            raise ConfigurationError(message)
        return aggregated(self.rows, {"aggregators": named} if named else {"aggregator": ours[0]})

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
