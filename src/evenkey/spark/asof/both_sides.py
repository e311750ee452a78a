"""The rows of both sides of an as-of join in one DataFrame, with columns named by number."""

from __future__ import annotations

import functools
import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from evenkey.core.errors import ConfigurationError
from evenkey.spark.asof.time_distances import FRACTIONS
from evenkey.spark.groups.group_keys import has_hash
from evenkey.spark.joins.conditions import text_of
from evenkey.spark.keys.given_columns import unlogged_errors

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from pyspark.sql import Column

LEFT, RIGHT = "left", "right"
TIME, TIE, POSITION, COST = "time", "tie", "position", "cost"
LEFT_POSITION = 1
BEFORE_LEFT, AFTER_LEFT = 0, 2
"""Values of `POSITION`: among rows of equal times, right rows are before or after left rows."""


@dataclass(frozen=True)
class NumberedSide:
    """The rows of one side.

    Parameters
    ----------
    frame
        The user's columns as ``left_0``, ``left_1``, ... or ``right_0``, ...; the keys as
        ``key_0``, ...; `TIME`; `TIE`, which decides between rows that are equal otherwise; and
        further columns.
    columns
        Names of the user's columns in `frame`.
    keys
        Names of the key columns in `frame`.
    """

    frame: DataFrame
    columns: tuple[str, ...]
    keys: tuple[str, ...]

    @classmethod
    def of(
        cls,
        df: DataFrame,
        mark: str,
        keys: Sequence[Column],
        time: Column,
        more: Mapping[str, Column],
    ) -> NumberedSide:
        """Number the columns of a side.

        Parameters
        ----------
        df
            The user's rows.
        mark
            `LEFT` or `RIGHT`.
        keys, time, more
            The keys, the time, and further columns by name.

        Raises
        ------
        ConfigurationError
            Spark does not find or compute one of these columns.
        """
        columns = [f"{mark}_{number}" for number in range(len(df.columns))]
        names = [f"key_{number}" for number in range(len(keys))]
        added = {**dict(zip(names, keys, strict=True)), TIME: time, **more}
        with unlogged_errors():
            try:
                frame = df.select("*", *(column.alias(name) for name, column in added.items()))
                frame.columns  # noqa: B018 - over Connect it is analysed only now
            except AnalysisException as error:
                reason = str(error).strip().split("\n", 1)[0]
                given = ", ".join(map(text_of, (*keys, time, *more.values())))
                message = f"{mark}: Spark cannot compute one of the columns {given}: {reason}"
                raise ConfigurationError(message) from error
        # By position, as several columns of a user may have one name.
        frame = frame.toDF(*columns, *added)
        hashed = [name for name in columns if has_hash(frame.schema[name].dataType)]
        frame = frame.withColumn(TIE, F.xxhash64(*hashed) if hashed else F.lit(0).cast("bigint"))
        if isinstance(frame.schema[TIME].dataType, FRACTIONS):
            frame = frame.withColumn(TIME, F.when(~F.isnan(TIME), F.col(TIME)))
        return cls(frame, tuple(columns), tuple(names))

    def matchable(self) -> DataFrame:
        """Return the rows that can have a match: no key is null, and the time is known."""
        return self.frame.where(self._is_whole)

    def others(self) -> DataFrame:
        """Return the rows that match nothing."""
        return self.frame.where(~self._is_whole)

    @property
    def _is_whole(self) -> Column:
        known = (F.col(name).isNotNull() for name in (*self.keys, TIME))
        return functools.reduce(operator.and_, known)


def together(left: NumberedSide, right: NumberedSide, positions: Iterable[int]) -> DataFrame:
    """Return the matchable rows of both sides, in which columns of the other side are null.

    Parameters
    ----------
    left, right
        The sides.
    positions
        Positions of right rows among left rows of the same time; each has all right rows.
    """
    rows = right.matchable()
    placed = [rows.withColumn(POSITION, F.lit(position)) for position in sorted({*positions})]
    return functools.reduce(
        united, [left.matchable().withColumn(POSITION, F.lit(LEFT_POSITION)), *placed]
    )


def united(first: DataFrame, second: DataFrame) -> DataFrame:
    """Return the rows of both; columns that one of them lacks are null there."""
    return first.unionByName(second, allowMissingColumns=True)
