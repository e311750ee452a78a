"""Put what a handler makes of a window in place of the window in an analysed plan.

Spark's own operator computes the window. Only the rows that it reads come from the handler: if
these have one more column, whose value depends on the key alone, the operator partitions by the key
and this column. So each of its partitions has the same rows as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkey.core.errors import ConfigurationError
from evenkey.spark.intercepted.catalyst_nodes import (
    analysed_plan,
    depends_on_task,
    each_of,
    name_of,
)
from evenkey.spark.intercepted.describing import describe_window
from evenkey.spark.intercepted.intercepted_call import InterceptedCall
from evenkey.spark.intercepted.moved_inputs import moves_rows_of_window
from evenkey.spark.intercepted.passed_nodes import NamedRows
from evenkey.spark.intercepted.rerouted_windows import (
    KEEPING,
    PLACE,
    column_ids,
    has_rerouted,
    new_number,
    on_same_rows,
    remember_window,
    with_spark_windows,
)

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from evenkey.spark.intercepted.catalyst_nodes import Catalyst
    from evenkey.spark.intercepted.intercepted_call import Described
    from evenkey.spark.intercepted.passed_nodes import PassedNodes, Used


def replaced_window(nodes: PassedNodes, before: Any, after: Any, above: tuple[Any, ...]) -> Any:
    """Return a window on the rows that a handler has placed, or unchanged.

    Parameters
    ----------
    nodes
        Passes the window to the handlers.
    before, after
        The window by Spark alone, and with nodes below it replaced.
    above
        The nodes that read it.
    """
    catalyst = nodes.catalyst
    own = with_spark_windows(catalyst, before)
    if has_rerouted(after):
        placed = on_same_rows(catalyst, after)
        if placed is not None:
            return placed
        if not _is_shuffled(catalyst, own):
            return with_spark_windows(catalyst, after)

    def make(described: Described, used: Used) -> Any | None:
        _check_values(before, above)
        if not _is_shuffled(catalyst, own):
            message = "Spark does not shuffle its input, which may be in order, and would keep it"
            raise ConfigurationError(message)
        return _placed(nodes, before, after, described, used)

    return nodes.replaced(describe_window(before), after, make)


def _is_shuffled(catalyst: Catalyst, window: Any) -> bool:
    """Return whether Spark shuffles the rows of a window for it."""
    below = window.child()
    while name_of(below) in KEEPING:
        below = below.child()
    # Spark may make one of two windows, which then seems to be the one that the rows are moved for.
    if name_of(below) == "Window" and column_ids(below.partitionSpec()) <= column_ids(
        window.partitionSpec()
    ):
        return False
    return moves_rows_of_window(catalyst.frame(window))


def _check_values(window: Any, above: tuple[Any, ...]) -> None:
    arguments = window.child()  # Spark computes the arguments of functions below the window.
    every = [*above, window, *([arguments] if name_of(arguments) == "Project" else [])]
    if any(map(depends_on_task, every)):
        message = "it is computed with random values, or with others that depend on the task"
        raise ConfigurationError(message)
    if any(name_of(each) != "AttributeReference" for each in each_of(window.partitionSpec())):
        message = "one of its keys is a constant"
        raise ConfigurationError(message)


def _placed(
    nodes: PassedNodes, before: Any, after: Any, described: Described, used: Used
) -> Any | None:
    """Return the window on the rows of the handler; None: they are those of Spark."""
    catalyst, inputs = nodes.catalyst, before.child()
    rows = NamedRows.of(
        catalyst,
        inputs,
        catalyst.aliased(PLACE, after.child()),
        hidden=nodes.has_hidden,
        renewed=True,
    )
    ids = (each.exprId().id() for each in each_of(inputs.output()))
    names = dict(zip(ids, rows.frame.columns, strict=False))
    keys = [names[each.exprId().id()] for each in each_of(before.partitionSpec())]
    own: list[DataFrame] = []
    number = new_number()

    def run(frame: DataFrame) -> DataFrame:
        if frame is rows.frame:
            own.append(catalyst.frame(before))
            return own[-1]
        if len(frame.columns) > rows.all_columns:
            remember_window(number, described)
        return catalyst.frame(_on_rows(nodes, before, rows, frame, f"{PLACE}{number}"))

    call = InterceptedCall(
        "window",
        "Window",
        (rows.frame,),
        (keys,),
        "",
        run,
        run,
        described=described,
        when_used=lambda report: used.append((number, report)),
    )
    made = nodes.handle(call)
    if any(made is each for each in own):
        return None
    plan = analysed_plan(made)
    if plan.schema().json() != before.schema().json():
        message = "the columns would differ from those of Spark's own window"
        raise ConfigurationError(message)
    return plan


def _on_rows(nodes: PassedNodes, window: Any, rows: NamedRows, frame: DataFrame, place: str) -> Any:
    """Return a window on a DataFrame with the columns of its rows, and perhaps `place` too."""
    catalyst, plan = nodes.catalyst, analysed_plan(frame)
    more = each_of(plan.output().drop(rows.all_columns))
    added = [catalyst.named(each, place) for each in more]
    places = [*rows.places(), *rows.hidden_places()]
    child = nodes.restored(plan, places, window.child(), added)
    keys = [*each_of(window.partitionSpec()), *(each.toAttribute() for each in added)]
    return catalyst.project(list(each_of(window.output())), catalyst.window(window, keys, child))
