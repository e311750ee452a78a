"""Pass each join in the text of ``spark.sql`` to the handlers of joins of DataFrames.

The joins are found in the plan that Spark has analysed, so Spark alone parses the text, and
resolves CTEs, aliases, views and ``USING``. Both sides of a join become DataFrames. What a handler
returns replaces the join in the plan, with the ids of the columns that the nodes above it use.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.errors import ConfigurationError
from evenkey.spark.intercepted.catalyst_nodes import (
    Catalyst,
    analysed_plan,
    each_of,
    is_command,
    name_of,
)
from evenkey.spark.intercepted.describing import describe_sql_join, remember_rerouted
from evenkey.spark.intercepted.intercepted_call import Described, InterceptedCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pyspark.sql import Column, DataFrame

_KINDS = {
    "Cross": "inner",  # a cross join whose condition was in WHERE
    "FullOuter": "full",
    "Inner": "inner",
    "LeftAnti": "anti",
    "LeftOuter": "left",
    "LeftSemi": "semi",
    "RightOuter": "right",
}
_TESTS = ("anti", "semi")
_EQUALITIES = ("EqualNullSafe", "EqualTo")
_REORDERED = ("Filter", "Join", "Project")
"""Nodes through which Spark looks for joins without a condition, to join in another order."""
_ODD = re.compile(r"\W")
_JOIN = re.compile(r"^[ :+-]*Join ", re.MULTILINE)


class SqlJoins(NamedTuple):
    """What an interception wants of SQL texts.

    Parameters
    ----------
    wanted
        Says of a join whether it is passed to the handler.
    refused
        Takes a line that says why a join, or a text with joins, is left to Spark.
    """

    wanted: Callable[[Described], bool]
    refused: Callable[[str, Exception], None]


def with_joins_passed(
    plain: DataFrame, handle: Callable[[InterceptedCall], DataFrame], wanted: SqlJoins
) -> DataFrame:
    """Return the result of a SQL text in which each wanted join is what a handler made of it.

    Parameters
    ----------
    plain
        Spark's own result, of a classic session.
    handle
        Takes a join, and returns its result.
    wanted
        Which joins are passed.

    Returns
    -------
    DataFrame
        `plain` itself if no join was replaced, or if anything failed.
    """
    try:
        analysed = analysed_plan(plain)
        if not _JOIN.search(analysed.toString()):
            return plain
        made = _Text(plain, handle, wanted).made(analysed)
        if made is None:
            return plain
        if made.schema != plain.schema:
            message = "the columns would differ from those of Spark's own result"
            raise ConfigurationError(message)  # noqa: TRY301 - reported as any other reason
        remember_rerouted(made, plain)
    except Exception as error:  # noqa: BLE001 - Spark has its own result of the text
        wanted.refused("SQL text with joins", error)
        return plain
    return made


class _Part(NamedTuple):
    """A part of a plan.

    Parameters
    ----------
    before, after
        The part by Spark alone, and with joins replaced.
    hinted
        Whether the author gave a hint in it.
    crossed
        Whether it has an inner join without a condition.
    """

    before: Any
    after: Any
    hinted: bool = False
    crossed: bool = False


class _Equality(NamedTuple):
    left: Any
    right: Any
    nulls_are_equal: bool


class _Text:
    """The plan of one text."""

    def __init__(
        self,
        plain: DataFrame,
        handle: Callable[[InterceptedCall], DataFrame],
        wanted: SqlJoins,
    ) -> None:
        self._plain = plain
        self._handle = handle
        self._wanted = wanted
        self._catalyst = Catalyst(plain)

    def made(self, analysed: Any) -> DataFrame | None:
        """Return the result of the text with its joins replaced; None: no join was.

        Raises
        ------
        ConfigurationError
            No join of the text can be replaced.
        """
        if is_command(self._plain):
            message = "it is a command, which Spark runs when sql() is called"
            raise ConfigurationError(message)
        if analysed.isStreaming():
            message = "it reads a stream"
            raise ConfigurationError(message)
        plan = self._catalyst.filtered_early(analysed)
        if plan is None:
            message = "it has a recursive CTE, or a CTE with random values that is read twice"
            raise ConfigurationError(message)
        part = self._part(plan)
        if part.after is part.before:
            return None
        columns = list(each_of(analysed.output()))
        return self._catalyst.frame(self._catalyst.project(columns, part.after))

    def _part(self, node: Any) -> _Part:
        kept = self._catalyst.kept(node)
        if kept is not None:
            return _Part(kept, kept)
        name = name_of(node)
        nodes = list(each_of(node.children()))
        below = [self._part(each) for each in nodes]
        before, after = node, node
        if any(part.before is not each for part, each in zip(below, nodes, strict=True)):
            before = after = self._with(node, [part.before for part in below])
        if any(part.after is not part.before for part in below):
            after = self._with(node, [part.after for part in below])
        hinted = name == "ResolvedHint" or any(part.hinted for part in below)
        crossed = name in _REORDERED and any(part.crossed for part in below)
        if name == "Join":
            after = self._joined(before, after, hinted=hinted, crossed=crossed)
            crossed = crossed or (before.condition().isEmpty() and _kind_of(before) == "inner")
        return _Part(before, after, hinted, crossed)

    def _with(self, node: Any, parts: Sequence[Any]) -> Any:
        return self._catalyst.with_children(node, parts)

    def _joined(self, before: Any, after: Any, *, hinted: bool, crossed: bool) -> Any:
        """Return a join with the handler's result in place of it, or unchanged."""
        described = describe_sql_join(before)
        if described is None or not self._wanted.wanted(described):
            return after
        try:
            _check(hinted=hinted, crossed=crossed)
            made = self._replacement(before, after, described)
        except Exception as error:  # noqa: BLE001 - Spark can run this join
            self._wanted.refused(f"{described.operator} by {described.keys[0]}", error)
            return after
        return after if made is None else made

    def _replacement(self, before: Any, after: Any, described: Described) -> Any | None:
        """Return what is read in place of a join; None: the handler left it to Spark."""
        kind = _kind_of(before)
        equalities, others = self._conditions(before)
        if kind is None or not equalities:
            message = "it has no equality of both sides"
            raise ConfigurationError(message)
        if others and kind != "inner":
            message = "ON has a condition that is no equality and no filter of one side"
            raise ConfigurationError(message)
        left, right = (
            self._side(side, now, [getattr(each, name) for each in equalities], name)
            for name, side, now in zip(
                ("left", "right"),
                (before.left(), before.right()),
                each_of(after.children()),
                strict=True,
            )
        )
        on = [
            left.frame[one].eqNullSafe(right.frame[other])
            if each.nulls_are_equal
            else left.frame[one] == right.frame[other]
            for each, one, other in zip(equalities, left.keys, right.keys, strict=True)
        ]
        made = self._passed(left.frame, right.frame, on, kind, described)
        if made is None:
            return None
        found = list(each_of(analysed_plan(made).output()))
        wanted = list(each_of(before.output()))
        places = [*range(left.columns)]
        if kind not in _TESTS:
            first = left.columns + len(left.keys)
            places += range(first, first + right.columns)
        columns = [
            self._catalyst.in_place_of(found[place], column)
            for place, column in zip(places, wanted, strict=True)
        ]
        replacement = self._catalyst.project(columns, analysed_plan(made))
        if replacement.schema().json() != before.schema().json():
            message = "the columns would differ from those of Spark's own join"
            raise ConfigurationError(message)
        if others:
            return self._catalyst.where(self._catalyst.both(others), replacement)
        return replacement

    def _conditions(self, join: Any) -> tuple[list[_Equality], list[Any]]:
        """Return the equalities of both sides in a join's condition, and all other conditions."""
        left, right = join.left().outputSet(), join.right().outputSet()
        equalities, others = [], []
        for each in _parts(join.condition().get()):
            if not self._catalyst.is_fixed(each):
                message = "its condition has a subquery"
                raise ConfigurationError(message)
            values = [each.left(), each.right()] if name_of(each) in _EQUALITIES else []
            sides = [[_is_of(value, side) for side in (left, right)] for value in values]
            if sides == [[False, True], [True, False]]:
                values.reverse()
            if sides in ([[False, True], [True, False]], [[True, False], [False, True]]):
                one, other = values
                equalities.append(_Equality(one, other, name_of(each) == "EqualNullSafe"))
            else:
                others.append(each)
        return equalities, others

    def _side(self, before: Any, after: Any, keys: Sequence[Any], prefix: str) -> _Side:
        """Return a side as a DataFrame with a name for each column, and with columns of the key."""
        columns = list(each_of(before.output()))
        named = [self._catalyst.named(each, f"c{n}") for n, each in enumerate(columns)]
        names = [f"{prefix}_{n}_{_readable(each)}" for n, each in enumerate(keys)]
        named += [self._catalyst.named(*pair) for pair in zip(keys, names, strict=True)]
        frame = self._catalyst.frame(self._catalyst.project(named, after))
        return _Side(frame, len(columns), names)

    def _passed(
        self, left: DataFrame, right: DataFrame, on: list[Column], kind: str, described: Described
    ) -> DataFrame | None:
        """Return the handler's result; None: it is Spark's own join of both sides."""
        own: list[DataFrame] = []

        def run(one: DataFrame, other: DataFrame) -> DataFrame:
            joined = one.join(other, on, kind)
            if one is left and other is right:
                own.append(joined)
            return joined

        call = InterceptedCall(
            "join", "sql", (left, right), (on,), kind, run, run, described=described
        )
        made = self._handle(call)
        return None if any(made is each for each in own) else made


class _Side(NamedTuple):
    """A side of a join: its rows, the number of its columns, and its key columns after them."""

    frame: DataFrame
    columns: int
    keys: list[str]


def _kind_of(join: Any) -> str | None:
    return _KINDS.get(str(join.joinType().toString()))


def _check(*, hinted: bool, crossed: bool) -> None:
    if hinted:
        message = "the text has a hint for this join"
        raise ConfigurationError(message)
    if crossed:
        message = "it reads a join without a condition, and Spark may join in another order"
        raise ConfigurationError(message)


def _parts(condition: Any) -> Iterator[Any]:
    if name_of(condition) == "And":
        yield from _parts(condition.left())
        yield from _parts(condition.right())
    else:
        yield condition


def _is_of(value: Any, side: Any) -> bool:
    """Return whether a value is computed from columns of a side, at least one."""
    columns = value.references()
    return bool(columns.nonEmpty() and columns.subsetOf(side))


def _readable(key: Any) -> str:
    """Return a name for a key: that of its column, and nothing of what is computed from others."""
    text = str(key.name()) if name_of(key) == "AttributeReference" else "key"
    return _ODD.sub("_", text)
