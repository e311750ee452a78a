"""Check the columns that users ask for, and put their functions over Spark's own windows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import Column, Window
from pyspark.sql import functions as F

from evenkey.core.checking import check_text, shown
from evenkey.core.errors import ConfigurationError
from evenkey.spark.groups.group_keys import expression_of, listed
from evenkey.spark.keys.given_columns import OWN, absent, key_columns, unlogged_errors
from evenkey.spark.windows.carried_functions import SHIFTS
from evenkey.spark.windows.column_parts import call_of, direction_of
from evenkey.spark.windows.ranking_functions import RANKINGS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame
    from pyspark.sql.types import StructField
    from pyspark.sql.window import WindowSpec

    from evenkey.spark.windows.column_parts import Call, Direction
    from evenkey.spark.windows.window_frames import Frame


class Ordering(NamedTuple):
    """One column of an order, as the user gave it, and its direction."""

    column: Column
    direction: Direction


class Given(NamedTuple):
    """A column that the user wants.

    Parameters
    ----------
    name
        Its name.
    over
        The function over Spark's own window.
    call
        The function and its arguments; None: they are unknown.
    field
        Type and nullability of the result.
    """

    name: str
    over: Column
    call: Call | None
    field: StructField


def key_list(given: object) -> list[str | Column]:
    """Return the argument `partition_by` as a list; empty: all rows are one partition.

    Raises
    ------
    ConfigurationError
        It has something else than names and columns.
    """
    return _listed("partition_by", given)


def order_list(df: DataFrame, given: object, what: str = "order_by") -> list[Ordering]:
    """Return an argument with an order as a list of columns and directions.

    Raises
    ------
    ConfigurationError
        It is empty, or has something else than names and columns.
    """
    found = _listed(what, given)
    if not found:
        message = f"{what} = []: there is no order; name at least one column"
        raise ConfigurationError(message)
    session = df.sparkSession
    columns = (column_of(df, each, what) for each in found)
    return [Ordering(*direction_of(session, column)) for column in columns]


def _listed(name: str, given: object) -> list[str | Column]:
    single = isinstance(given, str | Column) or not hasattr(given, "__iter__")
    found = listed([given] if single else [*given])  # type: ignore[misc]
    for each in found:
        if isinstance(each, int):
            message = f"{name} = {each}: must be a column's name or a Column; pass 'name'"
            raise ConfigurationError(message)
    return found  # type: ignore[return-value]


def column_of(df: DataFrame, given: str | Column, what: str) -> Column:
    """Return a column that the user named or passed.

    Raises
    ------
    ConfigurationError
        There is no such column.
    """
    found = expression_of(df, given)
    if isinstance(found, Column):
        return found
    name = str(found)
    # Spark reads a.b as a field of a struct.
    return F.col(name) if "." in name or "`" in name else key_columns(df, name, what)[0]


def given_columns(
    df: DataFrame,
    keys: Sequence[str | Column],
    orders: object,
    columns: Mapping[str, Column],
    frame: Frame,
) -> tuple[Given, ...]:
    """Put each function over Spark's own window.

    A function with a frame of its own, such as `row_number` and `lag`, does not get `frame`.

    Raises
    ------
    ConfigurationError
        A column is not one window function, has a name that is taken, or Spark refuses the window.
    """
    _check_columns(df, columns)
    order = [column_of(df, each, "order_by") for each in _listed("order_by", orders)]
    by = [column_of(df, each, "partition_by") for each in keys]
    # By a constant, so that Spark does not warn of a window without keys: evenkey cuts it.
    window = Window.partitionBy(*(by or [F.lit(0)])).orderBy(*order)
    calls = {name: call_of(df.sparkSession, column) for name, column in columns.items()}
    over = {
        name: column.over(_framed(calls[name], window, frame)) for name, column in columns.items()
    }
    fields = _analysed(df, columns, over)
    return tuple(
        Given(name, column, calls[name], field)
        for (name, column), field in zip(over.items(), fields, strict=True)
    )


def _framed(call: Call | None, window: WindowSpec, frame: Frame) -> WindowSpec:
    own = call is not None and (call.function in RANKINGS or call.function in SHIFTS)
    return window if own else frame.over(window)


def _check_columns(df: DataFrame, columns: object) -> None:
    if not isinstance(columns, Mapping) or not columns:
        message = (
            f"columns = {shown(columns)}: must be a dict of new columns and window functions; pass "
            "columns={'n': F.row_number()}, for instance"
        )
        raise ConfigurationError(message)
    for name, column in columns.items():
        check_text("columns", name, "n")
        absent(df, name)
        if name.lower().startswith(OWN):
            message = (
                f"columns[{name!r}]: names that begin with {OWN!r} are taken; choose another name"
            )
            raise ConfigurationError(message)
        if not isinstance(column, Column):
            message = (
                f"columns[{name!r}] = {shown(column)}: must be a window function of Spark; pass "
                "F.row_number(), for instance"
            )
            raise ConfigurationError(message)


def _analysed(
    df: DataFrame, columns: Mapping[str, Column], over: Mapping[str, Column]
) -> list[StructField]:
    """Return the fields of the results, as Spark's analysis declares them."""
    with unlogged_errors():
        try:
            return df.select(*(column.alias(name) for name, column in over.items())).schema.fields
        except AnalysisException as error:
            found = error
        for name, column in over.items():
            try:
                df.select(column).schema  # noqa: B018 - over Connect it is analysed only now
            except AnalysisException as error:
                reason = str(error).strip().split("\n", 1)[0]
                message = (
                    f"columns[{name!r}] = {shown(columns[name])}: it is not one window function "
                    f"that Spark can compute here ({reason}); pass one, such as F.sum('amount'), "
                    "and compute with its result afterwards"
                )
                raise ConfigurationError(message) from error
    message = (
        f"columns = {list(columns)}: Spark cannot compute these windows "
        f"({str(found).strip().splitlines()[0]}); check partition_by, order_by and the frame"
    )
    raise ConfigurationError(message) from found
