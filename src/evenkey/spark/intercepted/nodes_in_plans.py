"""Find joins in the texts of ``spark.sql``, and windows, in the plans that Spark has analysed.

So Spark alone parses a text, and resolves CTEs, aliases, views and ``USING``. Windows are also
found in the plans of ``select`` and similar methods. What a handler returns for a join or a window
replaces it in the plan.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.errors import ConfigurationError
from evenkey.spark.intercepted.catalyst_nodes import (
    Catalyst,
    analysed_plan,
    each_of,
    has_hint,
    hidden_columns,
    is_command,
    name_of,
    plan_key,
)
from evenkey.spark.intercepted.describing import TextParts, remember_rerouted
from evenkey.spark.intercepted.joins_in_texts import kind_of, replaced_join
from evenkey.spark.intercepted.passed_nodes import PassedNodes
from evenkey.spark.intercepted.rerouted_windows import (
    has_rerouted,
    windows_in,
    without_late_limits,
)
from evenkey.spark.intercepted.wanted_nodes import refuse
from evenkey.spark.intercepted.windows_in_plans import replaced_window

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pyspark.sql import DataFrame

    from evenkey.spark.intercepted.intercepted_call import InterceptedCall
    from evenkey.spark.intercepted.wanted_nodes import WantedNodes

_REORDERED = ("Filter", "Join", "Project")
"""Nodes through which Spark looks for joins without a condition, to join in another order."""
_NODES = re.compile(r"^[ :+-]*(?:Join|Window) ", re.MULTILINE)


def with_nodes_passed(
    plain: DataFrame,
    handle: Callable[[InterceptedCall], DataFrame],
    every: Sequence[WantedNodes],
    below: DataFrame | None = None,
) -> DataFrame:
    """Return a result in whose plan each wanted join and window is what a handler made of it.

    Parameters
    ----------
    plain
        Spark's own result, of a classic session.
    handle
        Takes a join or a window, and returns its result.
    every
        Which of them are passed: those that one of these wants.
    below
        The DataFrame whose method returned `plain`, of which windows alone are passed. None:
        `plain` is the result of a SQL text.

    Returns
    -------
    DataFrame
        `plain` itself if nothing was replaced, or if anything failed.
    """
    try:
        if below is not None and not _has_new_window(plain, below):
            return plain
        return _made(plain, handle, every, below)
    except Exception as error:  # noqa: BLE001 - Spark has its own result
        refuse(every, "SQL text" if below is None else "columns with a window", error)
        return plain


def _has_new_window(plain: DataFrame, below: DataFrame) -> bool:
    """Return whether the plan of a batch has a window above that of another DataFrame."""
    node, end = analysed_plan(plain), analysed_plan(below)
    found = False
    while not node.fastEquals(end):
        found = found or name_of(node) == "Window"
        nodes = list(each_of(node.children()))
        if len(nodes) != 1:
            return False
        (node,) = nodes
    return found and not below.isStreaming


def _made(
    plain: DataFrame,
    handle: Callable[[InterceptedCall], DataFrame],
    every: Sequence[WantedNodes],
    below: DataFrame | None,
) -> DataFrame:
    analysed = analysed_plan(plain)
    reads_rerouted = has_rerouted(analysed)
    key = plan_key(plain)
    if not reads_rerouted and all(each.skips(key) for each in every):
        return plain
    printed = str(analysed.toString())
    parts = TextParts.of(analysed, printed) if _NODES.search(printed) else None
    plan = _Plan(plain, handle, every, below)
    made = None
    if reads_rerouted or (parts is not None and any(each.may_want(parts) for each in every)):
        made = plan.made(analysed)
    if not plan.nodes.has_wanted:
        for each in every:
            each.skip(key)
    if made is None:
        return without_late_limits(plain, every) if reads_rerouted else plain
    if below is None:
        made = without_late_limits(made, every)
    if made.schema != plain.schema:
        message = "the columns would differ from those of Spark's own result"
        raise ConfigurationError(message)
    remember_rerouted(made, plain)
    windows = windows_in(analysed_plan(made))
    for number, report in plan.nodes.used:
        if number is None or number in windows:
            report()
    return made


class _Part(NamedTuple):
    """A part of a plan.

    Parameters
    ----------
    before, after
        The part by Spark alone, and with joins and windows replaced.
    hinted
        Whether the author gave a hint in it.
    crossed
        Whether it has an inner join without a condition.
    """

    before: Any
    after: Any
    hinted: bool = False
    crossed: bool = False


class _Plan:
    """The plan of one SQL text, or of one method of a DataFrame."""

    def __init__(
        self,
        plain: DataFrame,
        handle: Callable[[InterceptedCall], DataFrame],
        every: Sequence[WantedNodes],
        below: DataFrame | None,
    ) -> None:
        self._plain = plain
        self._below = None if below is None else analysed_plan(below)
        self._catalyst = Catalyst(plain)
        self.nodes = PassedNodes(self._catalyst, handle, every)

    def made(self, analysed: Any) -> DataFrame | None:
        """Return the result with its joins and windows replaced; None: none was.

        Raises
        ------
        ConfigurationError
            Nothing in the plan can be replaced.
        """
        if is_command(self._plain):
            message = "it is a command, which Spark runs when sql() is called"
            raise ConfigurationError(message)
        if analysed.isStreaming():
            message = "it reads a stream"
            raise ConfigurationError(message)
        hidden = hidden_columns(analysed)
        self.nodes.has_hidden = bool(hidden)
        plan = self._catalyst.filtered_early(analysed, self._below)
        if plan is None:
            message = "it has a recursive CTE, or a CTE with random values that is read twice"
            raise ConfigurationError(message)
        part = self._part(plan, ())
        if part.after is part.before:
            return None
        columns = list(each_of(analysed.output()))
        made = self._catalyst.frame(self._catalyst.project(columns, part.after))
        if hidden:
            self._check_hidden(hidden, analysed_plan(made))
        return made

    def _check_hidden(self, hidden: Sequence[Any], plan: Any) -> None:
        found = hidden_columns(plan)
        if [each.qualifiedName() for each in found] != [each.qualifiedName() for each in hidden]:
            message = "the columns that USING hides would differ from those of Spark's own result"
            raise ConfigurationError(message)
        self._catalyst.frame(self._catalyst.project(found, plan))  # an error if one is not found

    def _part(self, node: Any, above: tuple[Any, ...]) -> _Part:
        """Replace joins and windows in a part; `above` are the nodes that read it."""
        node = self._catalyst.without_fence(node)
        kept = self._catalyst.kept(node)
        if kept is not None:
            return _Part(kept, kept, hinted=has_hint(kept))
        name = name_of(node)
        if name == "Project":
            self._catalyst.hide_again(node)
        nodes = list(each_of(node.children()))
        below = [self._part(each, (*above, node)) for each in nodes]
        before, after = node, node
        if any(part.before is not each for part, each in zip(below, nodes, strict=True)):
            before = after = self._catalyst.with_children(node, [part.before for part in below])
        if any(part.after is not part.before for part in below):
            after = self._catalyst.with_children(node, [part.after for part in below])
        hinted = name == "ResolvedHint" or any(part.hinted for part in below)
        crossed = name in _REORDERED and any(part.crossed for part in below)
        if name == "Join":
            after = replaced_join(self.nodes, before, after, hinted=hinted, crossed=crossed)
            crossed = crossed or (before.condition().isEmpty() and kind_of(before) == "inner")
        if name == "Window":
            after = replaced_window(self.nodes, before, after, above)
        return _Part(before, after, hinted, crossed)
