"""Read and build nodes of analysed plans in the JVM, with Spark's own classes; no job runs.

These classes are not part of Spark's public API. Used are only parts that are the same in Spark 4.1
to 4.3. Any other version may raise an error, and the caller then leaves the plan to Spark.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

_KEPT = "__evenkey_kept_"
"""Beginning of the alias around a part of a plan that no rule of Spark may change."""
_ALIASES = ("SubqueryAlias", "View")
_SHARED = re.compile(r"^[ :+-]*(?:WithCTE|CTERelation\w+|UnionLoop\w*)\b", re.MULTILINE)
"""Matches parts of a plan that Spark computes once and reads several times."""


def each_of(sequence: Any) -> Iterator[Any]:
    """Yield the elements of a sequence of Scala."""
    for number in range(sequence.size()):
        yield sequence.apply(number)


def name_of(node: Any) -> str:
    """Return the name of the class of a node, such as ``Join``."""
    return str(node.getClass().getSimpleName())


def analysed_plan(frame: DataFrame) -> Any:
    """Return the analysed plan of a DataFrame of a classic session."""
    java: Any = frame
    return java._jdf.queryExecution().analyzed()  # noqa: SLF001 - Python has no name of it


def is_command(frame: DataFrame) -> bool:
    """Return whether Spark has already run a part of a text, because it is a command."""
    java: Any = frame
    return not java._jdf.logicalPlan().fastEquals(analysed_plan(frame))  # noqa: SLF001 - the same


class Catalyst:
    """Makes nodes of plans in the session of a DataFrame.

    Parameters
    ----------
    frame
        A DataFrame of a classic session.
    """

    def __init__(self, frame: DataFrame) -> None:
        self._frame = frame
        session: Any = frame.sparkSession
        self._session = session._jsparkSession  # noqa: SLF001 - Python has no name of it
        self._jvm = session._jvm  # noqa: SLF001 - PySpark's way to the JVM
        self._plans = self._jvm.org.apache.spark.sql.catalyst.plans.logical
        self._expressions = self._jvm.org.apache.spark.sql.catalyst.expressions
        self._rules = self._jvm.org.apache.spark.sql.catalyst.optimizer
        self._kept: list[Any] = []

    def frame(self, plan: Any) -> DataFrame:
        """Let Spark analyse a plan, and return a DataFrame of it."""
        kind: Any = type(self._frame)
        made = self._jvm.org.apache.spark.sql.classic.Dataset.ofRows(self._session, plan)
        frame: DataFrame = kind(made, self._frame.sparkSession)
        return frame

    def project(self, columns: Sequence[Any], plan: Any) -> Any:
        """Return the node that computes columns from a plan."""
        return self._plans.Project(self._sequence(columns), plan)

    def where(self, condition: Any, plan: Any) -> Any:
        """Return the node that filters a plan."""
        return self._plans.Filter(condition, plan)

    def both(self, conditions: Sequence[Any]) -> Any:
        """Return the conjunction of conditions, at least one."""
        every, *others = conditions
        for each in others:
            every = self._expressions.And(every, each)
        return every

    def named(self, expression: Any, name: str) -> Any:
        """Return an expression as a new column."""
        number = self._expressions.NamedExpression.newExprId()
        nothing, no_metadata = self._sequence([]), self._jvm.scala.Option.empty()
        return self._expressions.Alias(expression, name, number, nothing, no_metadata, nothing)

    def in_place_of(self, expression: Any, column: Any) -> Any:
        """Return an expression under the name, id, qualifier and metadata of a column."""
        metadata = self._jvm.scala.Some(column.metadata())
        number, qualifier = column.exprId(), column.qualifier()
        nothing = self._sequence([])
        return self._expressions.Alias(
            expression, column.name(), number, qualifier, metadata, nothing
        )

    def is_fixed(self, expression: Any) -> bool:
        """Return whether an expression has no random value and no subquery."""
        subquery = self._jvm.org.apache.spark.sql.catalyst.trees.TreePattern.PLAN_EXPRESSION()
        return bool(expression.deterministic()) and not expression.containsPattern(subquery)

    def with_children(self, node: Any, children: Sequence[Any]) -> Any:
        """Return a node with other children."""
        return node.withNewChildren(self._sequence(children))

    def filtered_early(self, analysed: Any) -> Any | None:
        """Return a plan with filters below its joins, and with CTEs in place of their names.

        These are two of the steps that Spark's optimizer takes later in any case. Views of
        DataFrames and parts that Spark has cached stay as they are; `kept` returns them.

        Returns
        -------
        Any or None
            None: Spark computes a CTE once and reads it several times, because it is recursive or
            has random values.
        """
        caches = self._session.sharedState().cacheManager()
        plan = self._without_aliases(analysed, None if caches.isEmpty() else caches)
        if _SHARED.search(plan.toString()):
            plan = self._inlining().apply(plan)
            if _SHARED.search(plan.toString()):
                return None
        return self._rules.PushDownPredicates.apply(plan)

    def kept(self, node: Any) -> Any | None:
        """Return the part of the analysed plan that a node stands for; None: it is an own node."""
        if name_of(node) != "SubqueryAlias" or not node.alias().startswith(_KEPT):
            return None
        part = self._kept[int(node.alias().removeprefix(_KEPT))]
        if node.outputSet().equals(part.outputSet()):
            return part
        # The part is read a second time, so Spark has given its columns other ids.
        columns = zip(each_of(part.output()), each_of(node.output()), strict=True)
        return self.project([self.in_place_of(*pair) for pair in columns], part)

    def _without_aliases(self, node: Any, caches: Any | None) -> Any:
        name = name_of(node)
        is_frame = name == "View" and node.isTempViewStoringAnalyzedPlan()
        if is_frame or (caches and caches.lookupCachedData(self._session, node).isDefined()):
            self._kept.append(node)
            alias = f"{_KEPT}{len(self._kept) - 1}"
            return self._module(self._plans, "SubqueryAlias").apply(alias, node)
        below = list(each_of(node.children()))
        made = [self._without_aliases(each, caches) for each in below]
        if name in _ALIASES:
            return made[0]
        same = all(one is other for one, other in zip(below, made, strict=True))
        return node if same else self.with_children(node, made)

    def _inlining(self) -> Any:
        """Return Spark's rule that puts CTEs where they are read; its options have defaults."""
        rule = self._module(self._rules, "InlineCTE")
        defaults = "$lessinit$greater$default$"
        options: list[Callable[[], Any]] = [
            getattr(rule, method.getName())
            for method in sorted(rule.getClass().getMethods(), key=lambda each: each.getName())
            if method.getName().startswith(defaults)
        ]
        return self._rules.InlineCTE(*(each() for each in options))

    def _sequence(self, elements: Sequence[Any]) -> Any:
        return self._jvm.PythonUtils.toSeq(list(elements))

    @staticmethod
    def _module(package: Any, name: str) -> Any:
        return getattr(getattr(package, f"{name}$"), "MODULE$")
