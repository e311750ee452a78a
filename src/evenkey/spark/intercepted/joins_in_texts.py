"""Put what a handler makes of a join in place of the join in the plan of a SQL text.

Both sides of a join become DataFrames. What a handler returns replaces the join in the plan, with
the ids of the columns that the nodes above it use.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.errors import ConfigurationError
from evenkey.spark.intercepted.catalyst_nodes import (
    analysed_plan,
    each_of,
    name_of,
    parts_of,
)
from evenkey.spark.intercepted.describing import describe_sql_join
from evenkey.spark.intercepted.intercepted_call import InterceptedCall
from evenkey.spark.intercepted.passed_nodes import NamedRows, readable

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

    from evenkey.spark.intercepted.intercepted_call import Described
    from evenkey.spark.intercepted.passed_nodes import PassedNodes, Used

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


class _Equality(NamedTuple):
    left: Any
    right: Any
    nulls_are_equal: bool


def kind_of(join: Any) -> str | None:
    """Return the kind of a join as ``df.join`` takes it; None: there is no such kind."""
    return _KINDS.get(str(join.joinType().toString()))


def replaced_join(
    nodes: PassedNodes, before: Any, after: Any, *, hinted: bool, crossed: bool
) -> Any:
    """Return a join with the handler's result in place of it, or unchanged.

    Parameters
    ----------
    nodes
        Passes the join to the handlers.
    before, after
        The join by Spark alone, and with nodes below it replaced.
    hinted
        Whether the author gave a hint for it.
    crossed
        Whether it reads an inner join without a condition.
    """

    def make(described: Described, used: Used) -> Any | None:
        _check(hinted=hinted, crossed=crossed)
        return _SqlJoin(nodes, before).replacement(after, described, used)

    return nodes.replaced(describe_sql_join(before), after, make)


def _check(*, hinted: bool, crossed: bool) -> None:
    if hinted:
        message = "the text has a hint for this join"
        raise ConfigurationError(message)
    if crossed:
        message = "it reads a join without a condition, and Spark may join in another order"
        raise ConfigurationError(message)


class _SqlJoin:
    """A join in the plan of a SQL text."""

    def __init__(self, nodes: PassedNodes, join: Any) -> None:
        self._nodes = nodes
        self._catalyst = nodes.catalyst
        self._join = join

    def replacement(self, after: Any, described: Described, used: Used) -> Any | None:
        """Return what is read in place of the join; None: the handler left it to Spark."""
        join = self._join
        kind = kind_of(join)
        equalities, others = self._conditions()
        if kind is None or not equalities:
            message = "it has no equality of both sides"
            raise ConfigurationError(message)
        if others and kind != "inner":
            message = "ON has a condition that is no equality and no filter of one side"
            raise ConfigurationError(message)
        has_hidden = self._nodes.has_hidden
        left, right = (
            NamedRows.of(
                self._catalyst,
                side,
                now,
                [
                    (f"{name}_{n}_{_readable(getattr(each, name))}", getattr(each, name))
                    for n, each in enumerate(equalities)
                ],
                hidden=has_hidden,
                renewed=has_hidden,
            )
            for name, side, now in zip(
                ("left", "right"),
                (join.left(), join.right()),
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
        made = self._passed((left.frame, right.frame), on, kind, described, used)
        if made is None:
            return None
        places = [*left.places()]
        hidden_places = [*left.hidden_places()]
        if kind not in _TESTS:
            places += right.places(left.all_columns)
            hidden_places += right.hidden_places(left.all_columns)
        every = [*places, *hidden_places]
        replacement = self._nodes.restored(analysed_plan(made), every, join)
        if replacement.schema().json() != join.schema().json():
            message = "the columns would differ from those of Spark's own join"
            raise ConfigurationError(message)
        if others:
            return self._catalyst.where(self._catalyst.both(others), replacement)
        return replacement

    def _conditions(self) -> tuple[list[_Equality], list[Any]]:
        """Return the equalities of both sides in the join's condition, and all other conditions."""
        left, right = self._join.left().outputSet(), self._join.right().outputSet()
        equalities, others = [], []
        for each in parts_of(self._join.condition().get()):
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

    def _passed(
        self,
        sides: tuple[DataFrame, DataFrame],
        on: list[Column],
        kind: str,
        described: Described,
        used: Used,
    ) -> DataFrame | None:
        """Return the handler's result; None: it is Spark's own join of both sides."""
        own: list[DataFrame] = []

        def run(one: DataFrame, other: DataFrame) -> DataFrame:
            joined = one.join(other, on, kind)
            if one is sides[0] and other is sides[1]:
                own.append(joined)
            return joined

        call = InterceptedCall(
            "join",
            "sql",
            sides,
            (on,),
            kind,
            run,
            run,
            described=described,
            when_used=lambda report: used.append((None, report)),
        )
        made = self._nodes.handle(call)
        return None if any(made is each for each in own) else made


def _is_of(value: Any, side: Any) -> bool:
    """Return whether a value is computed from columns of a side, at least one."""
    columns = value.references()
    return bool(columns.nonEmpty() and columns.subsetOf(side))


def _readable(key: Any) -> str:
    """Return a name for a key: that of its column, and nothing of what is computed from others."""
    return readable(key.name()) if name_of(key) == "AttributeReference" else "key"
