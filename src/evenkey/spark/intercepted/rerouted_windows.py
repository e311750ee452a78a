"""Find rerouted windows in analysed plans, for calls that read their results.

Spark's own window leaves the rows of a key in one task, in the order of the window, and Spark does
not shuffle them again for a later operator by the same key. It does so after a rerouted window, as
its rows are placed by a further column, which is not in the result. So a later window
reads the rows where they are, and for another call that would keep their order, the windows in its
inputs are Spark's own again. They also are if a later filter reads only the first rows of each key:
before its own shuffle, Spark drops the other rows, which leaves no hot key.
"""

from __future__ import annotations

import itertools
import re
import threading
from collections import OrderedDict
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.errors import ConfigurationError
from evenkey.spark.intercepted.catalyst_nodes import Catalyst, analysed_plan, each_of, name_of
from evenkey.spark.intercepted.moved_inputs import keeps_order
from evenkey.spark.intercepted.wanted_nodes import refuse
from evenkey.spark.keys.given_columns import OWN
from evenkey.spark.sessions.access import is_remote
from evenkey.spark.sessions.printed_plans import printed_plan

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from pyspark.sql import DataFrame

    from evenkey.spark.intercepted.intercepted_call import Described, InterceptedCall
    from evenkey.spark.intercepted.wanted_nodes import WantedNodes

PLACE = f"{OWN}window_place_"
"""Beginning of the column by which the rows of a rerouted window are placed; the window's number
follows. Also the alias of these rows."""
_LIMITED = re.compile(rf"WindowGroupLimit \[.*?\b{PLACE}(\d+)")
_PLACES = re.compile(rf"\b{PLACE}(\d+)")
_ORDERED = ("group", "cogroup", "join")
"""Kinds of calls whose results may depend on the order of rows."""
KEEPING = ("Filter", "Project", "SubqueryAlias")
"""Nodes that leave rows in their tasks."""
_MOST = 1_000
"""Maximum number of rerouted windows whose names are remembered; the oldest ones are forgotten."""
_lock = threading.Lock()
_names: OrderedDict[int, str] = OrderedDict()
_numbers = itertools.count()


def new_number() -> int:
    """Return a number for a window that may be rerouted."""
    return next(_numbers)


def remember_window(number: int, described: Described) -> None:
    """Remember a rerouted window by its number."""
    with _lock:
        _names[number] = f"{described.operator} by {described.keys[0]}"
        while len(_names) > _MOST:
            _names.popitem(last=False)


def has_rerouted(plan: Any) -> bool:
    """Return whether a plan has a rerouted window."""
    return bool(_names) and PLACE in str(plan.toString())


def windows_in(plan: Any) -> set[int]:
    """Return the numbers of the rerouted windows of a plan."""
    return set(map(int, _PLACES.findall(str(plan.toString())))) if _names else set()


def on_spark_windows(call: InterceptedCall, every: Sequence[WantedNodes]) -> InterceptedCall:
    """Return a call on Spark's own windows if it would get the rows of a key in their order."""
    if not _names or call.kind not in _ORDERED or is_remote(call.frames[0].sparkSession):
        return call
    try:
        frames = tuple(map(_with_spark_windows, call.frames))
        own = replace(call, frames=frames)
        same = all(one is other for one, other in zip(frames, call.frames, strict=True))
        if same or not keeps_order(own):
            return call
    except Exception as error:  # noqa: BLE001 - if it is the user's error, the call raises it
        refuse(every, call.method, error)
        return call
    what = "join" if call.kind == "join" else call.method
    for frame in call.frames:
        reason = f"a later {what} gets rows in the order of the window"
        _report(windows_in(analysed_plan(frame)), every, reason)
    return own


def filtered(frame: DataFrame, every: Sequence[WantedNodes]) -> DataFrame:
    """Return the result of a filter on Spark's own windows if it reads their first rows only."""
    try:
        return without_late_limits(frame, every)
    except Exception as error:  # noqa: BLE001 - the result is that of Spark in any case
        refuse(every, "filter", error)
        return frame


def without_late_limits(frame: DataFrame, every: Sequence[WantedNodes]) -> DataFrame:
    """Return a result in which windows are Spark's own if a filter reads their first rows only.

    Parameters
    ----------
    frame
        The result.
    every
        Handlers, to which each window that is left to Spark is reported.
    """
    plan = analysed_plan(frame)
    if not has_rerouted(plan):
        return frame
    catalyst = Catalyst(frame)
    # A result that the user gets must not be planned here: rows may be cached until it is used.
    numbers = {int(each) for each in _LIMITED.findall(printed_plan(catalyst.frame(plan)))}
    if not numbers:
        return frame
    reason = "a filter reads the first rows of each key, and Spark drops the others before it"
    _report(numbers, every, f"{reason} shuffles")
    return catalyst.frame(with_spark_windows(catalyst, plan, numbers))


def _report(numbers: Collection[int], every: Sequence[WantedNodes], reason: str) -> None:
    for number in sorted(numbers):
        name = _names.get(number)
        if name is not None:
            refuse(every, name, ConfigurationError(reason))


def _with_spark_windows(frame: DataFrame) -> DataFrame:
    plan = analysed_plan(frame)
    if not has_rerouted(plan):
        return frame
    catalyst = Catalyst(frame)
    made = with_spark_windows(catalyst, plan)
    return frame if made is plan else catalyst.frame(made)


def with_spark_windows(
    catalyst: Catalyst, node: Any, numbers: Collection[int] | None = None
) -> Any:
    """Return a plan in which rerouted windows are Spark's own, except in what Spark has cached.

    Parameters
    ----------
    catalyst
        Makes nodes.
    node
        The plan.
    numbers
        Numbers of these windows; None: all of them.
    """
    if not has_rerouted(node) or catalyst.is_cached(node):
        return node
    name = name_of(node)
    if name == "Project":
        columns = list(each_of(node.projectList()))
        others = [each for each in columns if not _is_place(each, numbers)]
        if len(others) < len(columns):
            below = node.child()
            if _makes_place(node):
                return with_spark_windows(catalyst, _given_rows(catalyst, node), numbers)
            made = with_spark_windows(catalyst, below, numbers)
            # The rows of the window themselves, whose columns it selects.
            return made if _makes_place(below) else catalyst.project_like(node, others, made)
    below = list(each_of(node.children()))
    made = [with_spark_windows(catalyst, each, numbers) for each in below]
    if name == "Window":
        keys = list(each_of(node.partitionSpec()))
        others = [each for each in keys if not _is_place(each, numbers)]
        if len(others) < len(keys):
            return catalyst.window(node, others, made[0])
    same = all(one is other for one, other in zip(below, made, strict=True))
    return node if same else catalyst.with_children(node, made)


def _makes_place(node: Any) -> bool:
    """Return whether a node is the projection that adds its column to the rows of a window."""
    return name_of(node) == "Project" and any(
        name_of(each) == "Alias" and _is_place(each) for each in each_of(node.projectList())
    )


def _given_rows(catalyst: Catalyst, node: Any) -> Any:
    """Return the rows of a window as they were before they were placed."""
    below = node
    while name_of(below) != "SubqueryAlias" or below.alias() != PLACE:
        below = below.child()
    rows = below.child()
    output = list(each_of(rows.output()))
    columns = list(each_of(node.projectList()))[: len(output)]
    pairs = zip(output, columns, strict=True)
    return catalyst.project([catalyst.in_place_of(*pair) for pair in pairs], rows)


class _Placed(NamedTuple):
    """Rows of a rerouted window, with the column that places them and the columns of the key."""

    plan: Any
    place: Any
    keys: list[Any]


def on_same_rows(catalyst: Catalyst, window: Any) -> Any | None:
    """Return a window above a rerouted one that reads its rows where they are, without a shuffle.

    Parameters
    ----------
    catalyst
        Makes nodes.
    window
        The window.

    Returns
    -------
    Any or None
        None: Spark's own window would need a shuffle there, or there are other nodes between them
        than projections and filters.
    """
    found = _placed_rows(catalyst, window.child())
    keys = list(each_of(window.partitionSpec()))
    if found is None:
        return None
    first = {*map(_id, found.keys)}
    if not first <= column_ids(window.partitionSpec()):
        return None
    both = [each for each in keys if _is_column(each) and _id(each) in first]
    more = [each for each in keys if not _is_column(each) or _id(each) not in first]
    # So a sort by these keys is also one by those of the other window.
    made = catalyst.window(window, [*both, found.place, *more], found.plan)
    return catalyst.project(list(each_of(window.output())), made)


def _placed_rows(catalyst: Catalyst, node: Any) -> _Placed | None:
    if not has_rerouted(node) or catalyst.is_cached(node):
        return None
    name = name_of(node)
    if name == "Window":
        keys = list(each_of(node.partitionSpec()))
        number = next((n for n, each in enumerate(keys) if _is_place(each)), None)
        return None if number is None else _Placed(node, keys[number], keys[:number])
    below = _placed_rows(catalyst, node.child()) if name in KEEPING else None
    if below is None:
        return None
    if name != "Project":
        return below._replace(plan=catalyst.with_children(node, [below.plan]))
    columns = list(each_of(node.projectList()))
    if not {*map(_id, below.keys)} <= {*map(_id, columns)}:
        return None
    return below._replace(plan=catalyst.project_like(node, [*columns, below.place], below.plan))


def column_ids(values: Any) -> set[int]:
    """Return the ids of the columns in a sequence of expressions; others have none."""
    return {*map(_id, filter(_is_column, each_of(values)))}


def _id(column: Any) -> int:
    return int(column.exprId().id())


def _is_column(value: Any) -> bool:
    return name_of(value) == "AttributeReference"


def _is_place(value: Any, numbers: Collection[int] | None = None) -> bool:
    name = value.name() if name_of(value) in ("Alias", "AttributeReference") else ""
    if not name.startswith(PLACE):
        return False
    return numbers is None or int(name.removeprefix(PLACE)) in numbers
