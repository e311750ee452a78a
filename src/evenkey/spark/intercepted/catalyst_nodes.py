"""Read and build nodes of analysed plans in the JVM, with Spark's own classes; no job runs.

These classes are not part of Spark's public API. Used are only parts that are the same in Spark 4.1
to 4.3. Any other version may raise an error, and the caller then leaves the plan to Spark.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import DataFrame

_KEPT = "__evenkey_kept_"
"""Beginning of the alias around a part of a plan that no rule of Spark may change."""
_FENCE = "__evenkey_fence"
"""Alias around a part of a plan that no rule of Spark may move a filter into."""
_FIRST = ("Except", "Intersect")
"""Beginnings of the names of nodes whose hints are those of their first input."""
_HIDDEN = "__qualified_access_only"
"""Metadata of columns that ``USING`` hides: ``*`` has them not, their table's name finds them."""
_OF_ORDER = ("CollectList", "CollectSet", "First", "Last", "ListAgg")
"""Aggregates that Spark calls non-deterministic because they depend on the order of rows."""
_PASSING = ("AggregateExpression", "Alias", "AnyValue", "WindowExpression")
"""Expressions that are deterministic if those below them are."""
_SHARED = re.compile(r"^[ :+-]*(?:WithCTE|CTERelation\w+|UnionLoop\w*)\b", re.MULTILINE)
"""Matches parts of a plan that Spark computes once and reads several times."""


def each_of(sequence: Any) -> Iterator[Any]:
    """Yield the elements of a sequence of Scala."""
    for number in range(sequence.size()):
        yield sequence.apply(number)


def name_of(node: Any) -> str:
    """Return the name of a node, such as ``Join``; for most, it is that of the class."""
    return str(node.nodeName())


def parts_of(condition: Any) -> Iterator[Any]:
    """Yield the conditions of which a condition is the conjunction."""
    if name_of(condition) == "And":
        yield from parts_of(condition.left())
        yield from parts_of(condition.right())
    else:
        yield condition


def has_hint(plan: Any) -> bool:
    """Return whether a plan has a hint that Spark uses for a join of it."""
    if name_of(plan) == "ResolvedHint":
        return True
    below = list(each_of(plan.children()))
    # A hint below another join is one for that join.
    return (
        bool(below) and (len(below) == 1 or name_of(plan).startswith(_FIRST)) and has_hint(below[0])
    )


def hidden_columns(plan: Any) -> list[Any]:
    """Return the columns that ``USING`` and ``NATURAL`` hide, and that later calls can name."""
    return [each for each in each_of(plan.metadataOutput()) if each.metadata().contains(_HIDDEN)]


def analysed_plan(frame: DataFrame) -> Any:
    """Return the analysed plan of a DataFrame of a classic session."""
    java: Any = frame
    return java._jdf.queryExecution().analyzed()  # noqa: SLF001 - Python has no name of it


def plan_key(frame: DataFrame) -> tuple[int, int]:
    """Return numbers that are the same for equal analysed plans with as many cached ones beside.

    Plans with other tables, paths, expressions or literals nearly always have other numbers.
    """
    session: Any = frame.sparkSession
    caches = session._jsparkSession.sharedState().cacheManager()  # noqa: SLF001 - no public name
    return int(analysed_plan(frame).semanticHash()), int(caches.numCachedEntries())


def depends_on_task(node: Any) -> bool:
    """Return whether a node computes values that depend on the task, such as random ones."""
    repeated = all(map(_is_repeatable, each_of(node.expressions())))
    return name_of(node) == "Sample" or not repeated


def _is_repeatable(expression: Any) -> bool:
    if expression.deterministic():
        return True
    return name_of(expression) in (*_OF_ORDER, *_PASSING) and all(
        map(_is_repeatable, each_of(expression.children()))
    )


def is_command(frame: DataFrame) -> bool:
    """Return whether Spark has already run a part of a text, because it is a command."""
    java: Any = frame
    return not java._jdf.logicalPlan().fastEquals(analysed_plan(frame))  # noqa: SLF001 - the same


class _Package:
    """A package of the JVM, in which each class is looked up once."""

    def __init__(self, package: Any) -> None:
        self._package = package

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._package, name)
        setattr(self, name, found)
        return found


class _Names(NamedTuple):
    """What is looked up by name in the JVM."""

    plans: _Package
    expressions: _Package
    rules: _Package
    subqueries: Any
    to_sequence: Callable[[list[Any]], Any]


@lru_cache(maxsize=1)
def _names_in(jvm: Any) -> _Names:
    catalyst = jvm.org.apache.spark.sql.catalyst
    return _Names(
        _Package(catalyst.plans.logical),
        _Package(catalyst.expressions),
        _Package(catalyst.optimizer),
        catalyst.trees.TreePattern.PLAN_EXPRESSION(),
        jvm.PythonUtils.toSeq,
    )


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
        names = _names_in(self._jvm)
        self._plans, self._expressions, self._rules = names.plans, names.expressions, names.rules
        self._to_sequence, self._subqueries = names.to_sequence, names.subqueries
        self._has_subqueries = False
        self._given: Any | None = None
        self._kept: list[Any] = []
        self._hidden: dict[str, Any] = {}

    def analysed(self, plan: Any) -> Any:
        """Let Spark analyse a plan, and return it."""
        return analysed_plan(self.frame(plan))

    def frame(self, plan: Any) -> DataFrame:
        """Let Spark analyse a plan, and return a DataFrame of it."""
        kind: Any = type(self._frame)
        made = self._jvm.org.apache.spark.sql.classic.Dataset.ofRows(self._session, plan)
        frame: DataFrame = kind(made, self._frame.sparkSession)
        return frame

    def project(self, columns: Sequence[Any], plan: Any) -> Any:
        """Return the node that computes columns from a plan."""
        return self._plans.Project(self._sequence(columns), plan)

    def project_like(self, node: Any, columns: Sequence[Any], plan: Any) -> Any:
        """Return a projection of other columns, and with another child, but the same tags."""
        made = self.project(columns, plan)
        made.copyTagsFrom(node)
        return made

    def window(self, node: Any, keys: Sequence[Any], plan: Any) -> Any:
        """Return a window with other keys and another child."""
        functions, order = node.windowExpressions(), node.orderSpec()
        return self._plans.Window(functions, self._sequence(keys), order, plan, node.hint())

    def hiding(self, hidden: Sequence[Any], columns: Sequence[Any], plan: Any) -> Any:
        """Return the node that selects columns from a plan, and hides others of it."""
        project = self.project([each.toAttribute() for each in columns], plan)
        project.setTagValue(self._plans.Project.hiddenOutputTag(), self._sequence(hidden))
        return project

    def hide_again(self, node: Any) -> None:
        """Mark the hidden columns of a projection if a rule has made it anew."""
        hidden = self._hidden and self._hidden.get(str(node.projectList().toString()))
        if hidden:
            node.setTagValue(self._plans.Project.hiddenOutputTag(), hidden)

    def renewed(self, plan: Any) -> Any:
        """Return a plan with other column ids, as Spark makes them for a self-join.

        Spark changes no ids of hidden columns, so the plan has none of those.
        """
        inner = self._module(self._jvm.org.apache.spark.sql.catalyst.plans, "Inner")
        nothing, no_hint = self._jvm.scala.Option.empty(), self._plans.JoinHint.NONE()
        joined = self._plans.Join(plan, plan, inner, nothing, no_hint)
        rule = self._jvm.org.apache.spark.sql.catalyst.analysis.DeduplicateRelations
        made = rule.apply(joined).right()
        self._hide_none(made)
        return made

    def _hide_none(self, node: Any) -> None:
        """Forget the hidden columns of a plan that are not in it."""
        if name_of(node) == "Project":
            tag = self._plans.Project.hiddenOutputTag()
            hidden, known = node.getTagValue(tag), node.child().outputSet()
            if hidden.isDefined() and not all(map(known.contains, each_of(hidden.get()))):
                node.unsetTagValue(tag)
        for each in each_of(node.children()):
            self._hide_none(each)

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
        return bool(expression.deterministic()) and not expression.containsPattern(self._subqueries)

    def with_children(self, node: Any, children: Sequence[Any]) -> Any:
        """Return a node with other children."""
        return node.withNewChildren(self._sequence(children))

    def filtered_early(self, analysed: Any, given: Any | None = None) -> Any | None:
        """Return a plan with filters below its joins, and with CTEs in place of their names.

        Of two windows, the one with fewer keys is below, so that both read the same shuffle. These
        are three of the steps that Spark's optimizer takes later in any case. Views of DataFrames
        and parts that Spark has cached stay as they are; `kept` returns them.

        Parameters
        ----------
        analysed
            The plan.
        given
            A part of it that stays as it is too.

        Returns
        -------
        Any or None
            None: Spark computes a CTE once and reads it several times, because it is recursive or
            has random values.
        """
        caches = self._session.sharedState().cacheManager()
        self._has_subqueries = bool(analysed.containsPattern(self._subqueries))
        self._given = given
        plan = self._prepared(analysed, None if caches.isEmpty() else caches)
        if _SHARED.search(plan.toString()):
            plan = self._inlining().apply(plan)
            if _SHARED.search(plan.toString()):
                return None
        plan = self._rules.PushDownPredicates.apply(plan)
        return self._rules.TransposeWindow.apply(plan)

    def kept(self, node: Any) -> Any | None:
        """Return the part of the analysed plan that a node stands for; None: it is an own node."""
        if name_of(node) != "SubqueryAlias" or not node.alias().startswith(_KEPT):
            return None
        part = self._kept[int(node.alias().removeprefix(_KEPT))]
        if node.outputSet().equals(part.outputSet()):
            return part
        # The part is read a second time, so Spark has given its columns other ids.
        columns = zip(each_of(part.output()), each_of(node.output()), strict=True)
        # The alias of this module is not a name that later calls may use.
        named = [(each, other.withQualifier(each.qualifier())) for each, other in columns]
        return self.project([self.in_place_of(*pair) for pair in named], part)

    def without_fence(self, node: Any) -> Any:
        """Return the node that a fence is around, or the node itself."""
        if name_of(node) == "SubqueryAlias" and node.alias() == _FENCE:
            return self.without_fence(node.child())
        return node

    def is_cached(self, node: Any) -> bool:
        """Return whether Spark has cached a plan."""
        caches = self._session.sharedState().cacheManager()
        if caches.isEmpty():
            return False
        return bool(caches.lookupCachedData(self._session, node).isDefined())

    def _prepared(self, node: Any, caches: Any | None) -> Any:
        """Return a plan for the rules, without views, and with projections in place of aliases."""
        name = name_of(node)
        is_frame = name == "View" and node.isTempViewStoringAnalyzedPlan()
        is_frame = is_frame or (self._given is not None and node.fastEquals(self._given))
        if is_frame or (caches and caches.lookupCachedData(self._session, node).isDefined()):
            self._kept.append(node)
            return self.aliased(f"{_KEPT}{len(self._kept) - 1}", node)
        below = list(each_of(node.children()))
        made = [self._prepared(each, caches) for each in below]
        if name == "View":
            return made[0]
        if name == "Project":
            hidden = node.getTagValue(self._plans.Project.hiddenOutputTag())
            if hidden.isDefined():
                self._hidden[str(node.projectList().toString())] = hidden.get()
        if name == "SubqueryAlias":
            # Later calls may name columns of a table by its alias, also those not selected.
            return self._plans.Project(node.output(), made[0])
        if self._has_subqueries and any(map(self._is_correlated, each_of(node.expressions()))):
            return self._fenced(node, made)
        same = all(one is other for one, other in zip(below, made, strict=True))
        return node if same else self.with_children(node, made)

    def _fenced(self, node: Any, below: Sequence[Any]) -> Any:
        """Return a node with a correlated subquery that no filter passes, and that itself stays.

        The plan in the subquery names columns by their ids, which a rule does not change when it
        moves the filter below a projection. Spark first moves such conditions out of the subquery.
        """
        if name_of(node) == "Filter" and node.condition().deterministic():
            parts = list(parts_of(node.condition()))
            stay = [each for each in parts if self._is_correlated(each)]
            move = [each for each in parts if not self._is_correlated(each)]
            if move:
                below = [self.where(self.both(move), *below)]
                node = self.where(self.both(stay), *below)
        fenced = [self.aliased(_FENCE, each) for each in below]
        return self.aliased(_FENCE, self.with_children(node, fenced))

    def _is_correlated(self, expression: Any) -> bool:
        return bool(self._expressions.SubqueryExpression.hasCorrelatedSubquery(expression))

    def aliased(self, alias: str, node: Any) -> Any:
        """Return a node with an alias of a table around it."""
        return self._module(self._plans, "SubqueryAlias").apply(alias, node)

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
        return self._to_sequence(list(elements))

    @staticmethod
    def _module(package: Any, name: str) -> Any:
        return getattr(getattr(package, f"{name}$"), "MODULE$")
