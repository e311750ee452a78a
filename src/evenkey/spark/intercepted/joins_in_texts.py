"""Pass each join in the text of ``spark.sql`` to the handlers of joins of DataFrames.

The joins are found in the plan that Spark has analysed, so Spark alone parses the text, and
resolves CTEs, aliases, views and ``USING``. Both sides of a join become DataFrames. What a handler
returns replaces the join in the plan, with the ids of the columns that the nodes above it use.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
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
    parts_of,
    plan_key,
)
from evenkey.spark.intercepted.describing import (
    TextParts,
    describe_sql_join,
    remember_rerouted,
    words_of,
)
from evenkey.spark.intercepted.intercepted_call import Described, InterceptedCall

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

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
_MOST = 10_000
"""Maximum number of texts that are remembered; the oldest ones are forgotten."""


class SqlJoins:
    """What an interception wants of SQL texts.

    Parameters
    ----------
    wanted
        Says of a join whether it is passed to the handler. A join that is not wanted is not wanted
        later either.
    refused
        Takes a line that says why a join, or a text with joins, is left to Spark.
    known
        What each wanted join reads, and its condition, as in `Described`. Texts that do not have
        all of this are skipped quickly, and so are texts without a wanted join from their second
        time on. None: every text is read.
    """

    def __init__(
        self,
        wanted: Callable[[Described], bool],
        refused: Callable[[str, Exception], None],
        known: Iterable[tuple[Iterable[str], str]] | None = None,
    ) -> None:
        self.wanted = wanted
        self.refused = refused
        self._known: list[TextParts] | None = None
        if known is not None:
            self._known = [TextParts(frozenset(reads), words_of(by)) for reads, by in known]
        self._unwanted: OrderedDict[tuple[int, int], None] = OrderedDict()
        self._lock = threading.Lock()

    def skips(self, key: tuple[int, int]) -> bool:
        """Return whether a text with this key had no wanted join."""
        return key in self._unwanted

    def may_want(self, text: TextParts) -> bool:
        """Return whether a text can have a wanted join."""
        return self._known is None or any(
            each.reads <= text.reads and each.words <= text.words for each in self._known
        )

    def skip(self, key: tuple[int, int]) -> None:
        """Let `skips` return True for a text, unless every text is read."""
        if self._known is None:
            return
        with self._lock:
            self._unwanted[key] = None
            while len(self._unwanted) > _MOST:
                self._unwanted.popitem(last=False)


def with_joins_passed(
    plain: DataFrame, handle: Callable[[InterceptedCall], DataFrame], every: Sequence[SqlJoins]
) -> DataFrame:
    """Return the result of a SQL text in which each wanted join is what a handler made of it.

    Parameters
    ----------
    plain
        Spark's own result, of a classic session.
    handle
        Takes a join, and returns its result.
    every
        Which joins are passed: those that one of these wants.

    Returns
    -------
    DataFrame
        `plain` itself if no join was replaced, or if anything failed.
    """
    try:
        made = _made(plain, handle, every)
    except Exception as error:  # noqa: BLE001 - Spark has its own result of the text
        _refuse(every, "SQL text with joins", error)
        return plain
    return plain if made is None else made


def _made(
    plain: DataFrame, handle: Callable[[InterceptedCall], DataFrame], every: Sequence[SqlJoins]
) -> DataFrame | None:
    key = plan_key(plain)
    if all(each.skips(key) for each in every):
        return None
    analysed = analysed_plan(plain)
    parts = TextParts.of(analysed) if _JOIN.search(analysed.toString()) else None
    text = _Text(plain, handle, every)
    made = None
    if parts is not None and any(each.may_want(parts) for each in every):
        made = text.made(analysed)
    if not text.has_wanted:
        for each in every:
            each.skip(key)
    if made is None:
        return None
    if made.schema != plain.schema:
        message = "the columns would differ from those of Spark's own result"
        raise ConfigurationError(message)
    remember_rerouted(made, plain)
    text.report_used()
    return made


def _refuse(every: Sequence[SqlJoins], name: str, error: Exception) -> None:
    for each in every:
        each.refused(name, error)


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
        every: Sequence[SqlJoins],
    ) -> None:
        self.has_wanted = False
        self._plain = plain
        self._handle = handle
        self._every = every
        self._catalyst = Catalyst(plain)
        self._has_hidden = False
        self._used: list[Callable[[], object]] = []

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
        hidden = hidden_columns(analysed)
        self._has_hidden = bool(hidden)
        plan = self._catalyst.filtered_early(analysed)
        if plan is None:
            message = "it has a recursive CTE, or a CTE with random values that is read twice"
            raise ConfigurationError(message)
        part = self._part(plan)
        if part.after is part.before:
            return None
        columns = list(each_of(analysed.output()))
        made = self._catalyst.frame(self._catalyst.project(columns, part.after))
        if hidden:
            self._check_hidden(hidden, analysed_plan(made))
        return made

    def report_used(self) -> None:
        """Tell the handlers that their results are part of the text's result."""
        for each in self._used:
            each()

    def _check_hidden(self, hidden: Sequence[Any], plan: Any) -> None:
        found = hidden_columns(plan)
        if [each.qualifiedName() for each in found] != [each.qualifiedName() for each in hidden]:
            message = "the columns that USING hides would differ from those of Spark's own result"
            raise ConfigurationError(message)
        self._catalyst.frame(self._catalyst.project(found, plan))  # an error if one is not found

    def _part(self, node: Any) -> _Part:
        node = self._catalyst.without_fence(node)
        kept = self._catalyst.kept(node)
        if kept is not None:
            return _Part(kept, kept, hinted=has_hint(kept))
        name = name_of(node)
        if name == "Project":
            self._catalyst.hide_again(node)
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
        if described is None:
            return after
        wanted = [each.wanted(described) for each in self._every]  # each of them has to see it
        if not any(wanted):
            return after
        self.has_wanted = True
        used: list[Callable[[], object]] = []
        try:
            _check(hinted=hinted, crossed=crossed)
            made = self._replacement(before, after, described, used)
        except Exception as error:  # noqa: BLE001 - Spark can run this join
            _refuse(self._every, f"{described.operator} by {described.keys[0]}", error)
            return after
        if made is None:
            return after
        self._used += used
        return made

    def _replacement(
        self, before: Any, after: Any, described: Described, used: list[Callable[[], object]]
    ) -> Any | None:
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
        made = self._passed((left.frame, right.frame), on, kind, described, used)
        if made is None:
            return None
        found = list(each_of(analysed_plan(made).output()))
        wanted = list(each_of(before.output()))
        hidden = hidden_columns(before) if self._has_hidden else []
        places = [*left.places(0)]
        hidden_places = [*left.hidden_places(0)]
        if kind not in _TESTS:
            places += right.places(left.width)
            hidden_places += right.hidden_places(left.width)
        columns = [
            self._catalyst.in_place_of(found[place], column)
            for place, column in zip([*places, *hidden_places], [*wanted, *hidden], strict=True)
        ]
        replacement = self._catalyst.project(columns, analysed_plan(made))
        if hidden:
            replacement = self._catalyst.hiding(hidden, columns[: len(wanted)], replacement)
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
        for each in parts_of(join.condition().get()):
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
        hidden = hidden_columns(before) if self._has_hidden else []
        named = [self._catalyst.named(each, f"c{n}") for n, each in enumerate(columns)]
        names = [f"{prefix}_{n}_{_readable(each)}" for n, each in enumerate(keys)]
        named += [self._catalyst.named(*pair) for pair in zip(keys, names, strict=True)]
        named += [self._catalyst.named(each, f"h{n}") for n, each in enumerate(hidden)]
        plan = self._catalyst.project(named, after)
        if self._has_hidden:
            # Else Spark would change the ids of the join's columns, and not those it hides.
            plan = self._catalyst.renewed(analysed_plan(self._catalyst.frame(plan)))
        return _Side(self._catalyst.frame(plan), len(columns), names, len(hidden))

    def _passed(
        self,
        sides: tuple[DataFrame, DataFrame],
        on: list[Column],
        kind: str,
        described: Described,
        used: list[Callable[[], object]],
    ) -> DataFrame | None:
        """Return the handler's result; None: it is Spark's own join of both sides."""
        own: list[DataFrame] = []

        def run(one: DataFrame, other: DataFrame) -> DataFrame:
            joined = one.join(other, on, kind)
            if one is sides[0] and other is sides[1]:
                own.append(joined)
            return joined

        call = InterceptedCall(
            "join", "sql", sides, (on,), kind, run, run, described=described, when_used=used.append
        )
        made = self._handle(call)
        return None if any(made is each for each in own) else made


class _Side(NamedTuple):
    """A side of a join: its rows, with columns, then those of the key, then hidden ones."""

    frame: DataFrame
    columns: int
    keys: list[str]
    hidden: int

    @property
    def width(self) -> int:
        return self.columns + len(self.keys) + self.hidden

    def places(self, begin: int) -> range:
        """Return the places of the columns in a join whose columns from a place on are these."""
        return range(begin, begin + self.columns)

    def hidden_places(self, begin: int) -> range:
        """Return the places of the hidden columns."""
        return range(begin + self.width - self.hidden, begin + self.width)


def _kind_of(join: Any) -> str | None:
    return _KINDS.get(str(join.joinType().toString()))


def _check(*, hinted: bool, crossed: bool) -> None:
    if hinted:
        message = "the text has a hint for this join"
        raise ConfigurationError(message)
    if crossed:
        message = "it reads a join without a condition, and Spark may join in another order"
        raise ConfigurationError(message)


def _is_of(value: Any, side: Any) -> bool:
    """Return whether a value is computed from columns of a side, at least one."""
    columns = value.references()
    return bool(columns.nonEmpty() and columns.subsetOf(side))


def _readable(key: Any) -> str:
    """Return a name for a key: that of its column, and nothing of what is computed from others."""
    text = str(key.name()) if name_of(key) == "AttributeReference" else "key"
    return _ODD.sub("_", text)
