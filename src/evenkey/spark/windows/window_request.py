"""The checked arguments of `over`, and the steps that compute its columns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pyspark.errors import AnalysisException
from pyspark.sql import functions as F
from pyspark.sql.types import DoubleType, FloatType

from evenkey.core.checking import check_one_of, check_workers
from evenkey.core.errors import ConfigurationError
from evenkey.spark.groups.group_keys import keyed, unplaceable
from evenkey.spark.groups.weights import cost_column
from evenkey.spark.keys.given_columns import (
    OWN,
    check_frame,
    parts_of_type,
    quoted,
    unlogged_errors,
)
from evenkey.spark.plans.batch_plans import stored_workers
from evenkey.spark.plans.places import check_state
from evenkey.spark.sessions.task_slots import default_workers
from evenkey.spark.windows.collected_tables import why_not_collected
from evenkey.spark.windows.column_parts import name_of, unquoted_text
from evenkey.spark.windows.given_windows import given_columns, key_list, order_list
from evenkey.spark.windows.served_columns import Asked
from evenkey.spark.windows.serving import neighbours, serve, why_not
from evenkey.spark.windows.sort_orders import SortOrder, uncuttable
from evenkey.spark.windows.window_frames import frame_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from pyspark.sql import Column, DataFrame

    from evenkey.core.stores import Store
    from evenkey.spark.groups.group_keys import Keys
    from evenkey.spark.windows.column_parts import Call
    from evenkey.spark.windows.given_windows import Given, Ordering
    from evenkey.spark.windows.served_columns import Served
    from evenkey.spark.windows.serving import Neighbours
    from evenkey.spark.windows.window_frames import Frame


@dataclass(frozen=True)
class WindowRequest:
    """The checked arguments of `over`.

    Parameters
    ----------
    df
        The user's DataFrame.
    shown
        The call as text: the operator, the keys and the order.
    given
        The columns that the user wants.
    keys
        The key columns; their DataFrame also has all other columns that the windows use.
    orders
        The order.
    frame, workers, state, cost, exact
        As for `over`.
    steps
        For each column the steps that compute it on pieces, or why it is left to Spark.
    neighbours
        Which rows next to a piece the windows reach.
    """

    df: DataFrame
    shown: str
    given: tuple[Given, ...]
    keys: Keys
    orders: tuple[SortOrder, ...]
    frame: Frame
    workers: int
    state: str | Path | Store | None
    cost: Column | None
    steps: tuple[Served | str, ...]
    neighbours: Neighbours
    exact: bool = False

    @classmethod
    def of(
        cls,
        df: DataFrame,
        partition_by: str | Column | Sequence[str | Column],
        order_by: str | Column | Sequence[str | Column],
        columns: Mapping[str, Column],
        rows_between: tuple[int, int] | None,
        range_between: tuple[int, int] | None,
        workers: int | None,
        state: str | Path | Store | None,
        cost: str | Column | None,
        *,
        exact: bool = False,
    ) -> WindowRequest:
        """Check the arguments of `over`.

        Raises
        ------
        ConfigurationError
            An argument of `over` is invalid.
        """
        check_frame(df)
        if df.isStreaming:
            message = (
                "df is a stream: the rows of a key are never complete, so Spark has no such "
                "windows; call over on each batch in foreachBatch"
            )
            raise ConfigurationError(message)
        frame = frame_of(rows_between, range_between)
        check_state(state)
        check_one_of("exact", exact, (True, False))
        if workers is None:
            session = df.sparkSession
            workers = stored_workers(session, state) or default_workers(session)
        check_workers(workers)
        by, ordering = key_list(partition_by), order_list(df, order_by)
        given = given_columns(df, by, order_by, columns, frame)
        rows = _Rows(df, by, ordering, given)
        served = [each for each in rows.calls if each and not why_not(each, frame)]
        copied = neighbours(served, frame)
        steps = rows.steps(frame, copies=bool(copied))
        order = ", ".join(each.shown for each in rows.orders)
        return cls(
            df,
            f"over({', '.join(rows.keys.shown)} order by {order})",
            given,
            replace(rows.keys, frame=rows.with_left(steps)),
            rows.orders,
            frame,
            workers,
            state,
            cost_column(df, cost),
            steps,
            copied,
            exact,
        )

    @property
    def identity(self) -> str:
        """The call as text, with the types of the order: plans of other calls are useless."""
        return f"{self.shown}: {', '.join(each.kind.simpleString() for each in self.orders)}"

    @property
    def plain(self) -> DataFrame:
        """The result of Spark's own windows."""
        return self.df.withColumns({each.name: each.over for each in self.given})

    @property
    def served(self) -> list[Served]:
        """The steps of the columns that are computed on pieces."""
        return [each for each in self.steps if not isinstance(each, str)]

    @property
    def reason(self) -> str | None:
        """Why all columns are left to Spark's own windows; None: keys may be cut."""
        if not self.served:
            return "no column can be computed on parts of a key"
        if self.workers == 1:
            return "there is one worker"
        found = unplaceable(self.keys)
        if found is not None:
            return found
        for text, kind in zip(self.keys.shown, self.keys.types, strict=True):
            if (why := why_not_collected(kind)) is not None:
                return f"{text}: {why}"
            if any(isinstance(part, FloatType | DoubleType) for part in parts_of_type(kind)):
                return f"{text} has floating-point numbers, which Spark normalizes first"
        return next((reason for each in self.orders if (reason := uncuttable(each))), None)


class _Rows:
    """The user's rows, with a column for each expression that the windows use.

    Parameters
    ----------
    df, keys, orders, given
        The rows and the checked arguments.
    """

    def __init__(
        self,
        df: DataFrame,
        keys: Sequence[str | Column],
        orders: Sequence[Ordering],
        given: Sequence[Given],
    ) -> None:
        self._df = df
        self._given = given
        self._added: dict[str, Column] = {}
        by = [self._name(each) or each for each in keys]
        # Without a key, all rows have the same one.
        self._by = by or [F.lit(0).alias("all rows")]
        names = [self._named(each.column) for each in orders]
        self.calls = [self._with_names(each.call) for each in given]
        self.keys = self._keyed({})
        schema = self.keys.frame.schema
        self.orders = tuple(
            SortOrder(name, schema[name].dataType, *each.direction, self._text(name, each.column))
            for name, each in zip(names, orders, strict=True)
        )

    def _keyed(self, left: Mapping[str, Column]) -> Keys:
        """Return the keys, on rows with all columns and those of `left`, which are added together.

        A key that is repeated is the same column, and is there once.
        """
        found = keyed(self._df, self._by, {**self._added, **left})
        once = dict(zip(found.names, found.shown, strict=True))
        return replace(found, names=tuple(once), shown=tuple(once.values()))

    def _name(self, given: str | Column) -> str | None:
        """Return the name of a column of the rows, if a key or a value is no more than that."""
        if isinstance(given, str):
            return given
        name = name_of(self._df.sparkSession, given)
        same = [] if name is None else [e for e in self._df.columns if e.lower() == name.lower()]
        return name if same == [name] else None

    def _text(self, name: str, column: Column) -> str:
        return unquoted_text(column) if name in self._added else name

    def _named(self, column: Column) -> str:
        name = self._name(column)
        if name is None:
            name = f"{OWN}window_value_{len(self._added)}"
            self._added[name] = column
        return name

    def _with_names(self, call: Call | None) -> Call | None:
        """Replace arguments that are expressions by columns.

        Spark needs some arguments as values that do not depend on rows, such as the percentages of
        a percentile. They stay as they are, but the first argument is always one of values.
        """
        if call is None:
            return None
        arguments = (
            each
            if each.literal is not None
            or each.star is not None
            or (place > 0 and self._is_constant(each.column))
            else replace(each, column=quoted(self._named(each.column)))
            for place, each in enumerate(call.arguments)
        )
        return replace(call, arguments=tuple(arguments))

    def _is_constant(self, column: Column) -> bool:
        """Return whether an expression uses no column, and no ``*``.

        Spark can then analyse it without columns, and a column of an odd type changes nothing.
        """
        nothing = self._df.sparkSession.range(1)
        odd = F.expr(f"map(1, interval '1' month) as {OWN}odd")
        with unlogged_errors():
            try:
                kinds = [
                    each.select(column.alias("constant")).schema
                    for each in (nothing.drop("id"), nothing.select(odd))
                ]
            except AnalysisException:
                return False
        return kinds[0] == kinds[1]

    def steps(self, frame: Frame, *, copies: bool) -> tuple[Served | str, ...]:
        """Return the steps of each column, or why it is left to Spark."""
        names = self.keys.quoted_names
        is_ansi = str(self._df.sparkSession.conf.get("spark.sql.ansi.enabled")).lower() == "true"

        def of(number: int, call: Call | None, given: Given) -> Served | str:
            reason = why_not(call, frame)
            if reason is not None or call is None:
                return reason or ""
            kind = given.field.dataType
            return serve(Asked(number, call, kind, frame, names, self.orders, copies, is_ansi))

        pairs = zip(self.calls, self._given, strict=True)
        return tuple(of(number, *pair) for number, pair in enumerate(pairs))

    def with_left(self, steps: Sequence[Served | str]) -> DataFrame:
        """Return the rows, with the columns that are left to Spark; see `left_name`."""
        left = {
            left_name(number): self._given[number].over
            for number, each in enumerate(steps)
            if isinstance(each, str)
        }
        return self._keyed(left).frame if left else self.keys.frame


def left_name(number: int) -> str:
    """Return the name under which Spark's own window computes a column of a request."""
    return f"{OWN}window_left_{number}"
