"""Give each call that shuffles by key a fingerprint, which is the same in all runs of a job.

It is computed from the analysed plan of Spark's own result, which Spark has made for the call in
any case: operator and function, expressions of the key, conditions of filters and joins below, the
tables and files that are read, and the columns with their types.
"""

from __future__ import annotations

import json
import re
from hashlib import blake2b
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.core.stable_names import stable, stable_path
from evenkey.spark.intercepted import classic_plans, connect_plans
from evenkey.spark.intercepted.catalyst_nodes import each_of
from evenkey.spark.intercepted.intercepted_call import Described
from evenkey.spark.intercepted.plan_lines import (
    bracketed,
    children,
    definitions,
    lines_of,
    resolved,
    split,
)
from evenkey.spark.intercepted.rewritten_plans import original_lines, remember_original
from evenkey.spark.sessions.access import is_remote

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from types import ModuleType

    from pyspark.sql import DataFrame

    from evenkey.spark.intercepted.intercepted_call import InterceptedCall
    from evenkey.spark.intercepted.plan_lines import PlanLine

SQL_JOIN = "SQL join"
"""Beginning of the operator of a join in a SQL text."""
WINDOW = "window"
"""Beginning of the operator of a window."""
_FILES = "Relation ["
"""Beginning of a relation that has no name in the catalog."""
_LEAVES = (
    "DataSourceV2Relation",
    "HiveTableRelation",
    "LocalRelation",
    "LogicalRDD",
    "OneRowRelation",
    "Range",
    "Relation",
)
_ROWS = ("LocalRelation", "LogicalRDD")
"""Rows of the program: which of the two depends on the kind of session."""
_WITH_CONDITION = ("Filter", "Join")
_IGNORED = (
    "CTERelation",
    "CollectMetrics",
    "Project",
    "Rebalance",
    "Repartition",
    "ResolvedHint",
    "Sort",
    "SubqueryAlias",
    "View",
    "WithCTE",
)
"""Operators that change no rows, or that differ between kinds of sessions."""
_NAMED_RELATION = re.compile(r"Relation ([^\s\[]+)\[")
_SPLITS = re.compile(r", splits=(?:None|Some\(\d+\))")
_CALL = re.compile(r"\w+\(.*\bwindowspecdefinition\(")
"""Matches a function on a window, as Spark prints it."""
_WORD = re.compile(r"\b[^\W\d]\w*")
_DIGEST_BYTES = 8


def describe(call: InterceptedCall, plain: DataFrame | None) -> Described | None:
    """Return the fingerprint of a call.

    In a classic session this makes no request to Spark other than to read the plan. Over Connect it
    sends one or two requests, and more for columns that PySpark does not know yet.

    Parameters
    ----------
    call
        The call.
    plain
        Result of Spark's own method; None for a write.

    Returns
    -------
    Described or None
        None: the call has no keys, as a join without a condition.
    """
    if call.described is not None:
        return call.described
    frame = call.frames[0] if plain is None else plain
    reader = _reader(frame)
    printed = lines_of(reader.analysed(frame))
    lines = original_lines(printed)
    place: int | None = None
    keys: tuple[str, ...]
    if call.kind == "write":
        operator, keys = "write", (", ".join(call.keys[0]),)
    else:
        place = _place(call, lines)
        operator, keys = _operation(call, lines, place)
    schemas = [each.schema.simpleString() for each in call.frames]
    known = {**definitions(printed), **definitions(lines)}
    below = _Below(lines, place, known, lambda: reader.locations(frame), schemas)
    return _described(operator, keys, below)


def describe_sql_join(join: Any) -> Described | None:
    """Return the fingerprint of a join in the plan of a SQL text of a classic session.

    Parameters
    ----------
    join
        The join in the JVM, with all operators below it.

    Returns
    -------
    Described or None
        None: the join has no condition.
    """
    printed = lines_of(str(join.toString()))
    lines = original_lines(printed)
    kind, keys = _kind_and_condition(lines[0].text)
    schemas = [each.schema().catalogString() for each in (join.left(), join.right())]
    known = {**definitions(printed), **definitions(lines)}
    below = _Below(lines, 0, known, lambda: classic_plans.locations_of(join), schemas)
    return _described(f"{SQL_JOIN} {kind}", keys, below)


def describe_window(window: Any) -> Described | None:
    """Return the fingerprint of a window in the analysed plan of a classic session.

    Parameters
    ----------
    window
        The window in the JVM, with all operators below it.

    Returns
    -------
    Described or None
        None: the window has no keys.
    """
    printed = lines_of(str(window.toString()))
    lines = original_lines(printed)
    functions = {each.partition("(")[0] for each in lines[0].fields() if _CALL.match(each)}
    keys, order = (
        ", ".join(str(each.toString()) for each in each_of(listed))
        for listed in (window.partitionSpec(), window.orderSpec())
    )
    schemas = [window.child().schema().catalogString()]
    known = {**definitions(printed), **definitions(lines)}
    below = _Below(lines, 0, known, lambda: classic_plans.locations_of(window), schemas)
    return _described(f"{WINDOW} {', '.join(sorted(functions))}", (keys,), below, order)


class TextParts(NamedTuple):
    """What the joins and windows of a plan can consist of.

    Parameters
    ----------
    reads
        The tables, paths and other relations that the plan reads.
    words
        Names of columns and functions in it.
    """

    reads: frozenset[str]
    words: frozenset[str]

    @classmethod
    def of(cls, plan: Any, printed: str) -> TextParts:
        """Read an analysed plan in the JVM and its text, which costs less than describing joins."""
        lines = original_lines(lines_of(printed))
        leaves = [_leaf(line.text) for line in lines if line.text.startswith(_LEAVES)]
        unnamed = any(line.text.startswith(_FILES) for line in lines)
        paths = [stable_path(each) for each in classic_plans.locations_of(plan)] if unnamed else []
        texts = [printed, *(line.text for line in lines)]
        return cls(frozenset(_reads(leaves, paths)), words_of("\n".join(texts)))


def words_of(text: str) -> frozenset[str]:
    """Return the names in an expression or a plan, without what changes from run to run.

    Examples
    --------
    >>> sorted(words_of("((user#3L = upper(name#17)) AND (day = 20261126))"))
    ['day', 'name', 'upper', 'user']
    """
    return frozenset(_WORD.findall(stable(text))) - {"AND"}


class _Below(NamedTuple):
    """A plan, the place of the call's own operator in it, and what it reads."""

    lines: Sequence[PlanLine]
    place: int | None
    known: Mapping[str, str]
    locations: Callable[[], list[str]]
    schemas: Sequence[str]


def _described(
    operator: str, keys: tuple[str, ...], below: _Below, order: str = ""
) -> Described | None:
    if not any(keys):
        return None
    rest = [line for number, line in enumerate(below.lines) if number != below.place]
    known = below.known
    leaves = sorted(_leaf(line.text) for line in rest if line.text.startswith(_LEAVES))
    unnamed = any(line.text.startswith(_FILES) for line in rest)
    paths = sorted({stable_path(each) for each in below.locations()}) if unnamed else []
    parts = [
        f"{operator} {stable(resolved(order, known))}" if order else operator,
        [stable(resolved(each, known)) for each in keys],
        [_step(line, known) for line in rest if not line.text.startswith((*_LEAVES, *_IGNORED))],
        leaves,
        paths,
        [stable(each) for each in below.schemas],
    ]
    digest = blake2b(json.dumps(parts).encode(), digest_size=_DIGEST_BYTES).hexdigest()
    # For people, a computed column is its name: its expression may contain values of keys.
    shown = tuple(stable(resolved(each, {})) for each in keys)
    return Described(digest, operator, shown, _reads(leaves, paths))


def remember_rerouted(made: DataFrame, plain: DataFrame) -> None:
    """Let `describe` read the plan of a rerouted call as that of Spark's own method.

    Parameters
    ----------
    made
        Result of the call.
    plain
        Result of Spark's own method.
    """
    reader = _reader(plain)
    remember_original(*(lines_of(reader.analysed(each)) for each in (made, plain)))


def analysed_text(frame: DataFrame) -> str:
    """Return the analysed plan of a DataFrame as Spark prints it; over Connect, one request."""
    return str(_reader(frame).analysed(frame))


def _reader(frame: DataFrame) -> ModuleType:
    return connect_plans if is_remote(frame.sparkSession) else classic_plans


def _place(call: InterceptedCall, lines: Sequence[PlanLine]) -> int:
    """Return the line number of the call's own operator, which is the topmost of its kind."""
    own = {"group": "FlatMapGroupsIn", "cogroup": "FlatMapCoGroupsIn", "join": "Join "}[call.kind]
    return next(number for number, line in enumerate(lines) if line.text.startswith(own))


def _operation(
    call: InterceptedCall, lines: Sequence[PlanLine], place: int
) -> tuple[str, tuple[str, ...]]:
    """Return the operator with its function or kind, and the expressions of the key."""
    text = lines[place].text
    if call.kind == "join":
        kind, condition = _kind_and_condition(text)
        return f"join {kind}", condition
    function = next((part for part in split(text) if "(" in part and "[" not in part), "")
    operator = f"{call.method}({function.partition('(')[0]})"
    if call.kind == "cogroup":
        operator = f"cogroup.{operator}"
    # Below the operator, Spark puts the keys before all other columns.
    below = [lines[each] for each in children(lines, place)]
    counts = _counts(text, len(below))
    every = (line.fields()[:count] for line, count in zip(below, counts, strict=False))
    keys = (", ".join(each.rpartition(" AS ")[0] or each for each in listed) for listed in every)
    return operator, tuple(keys)


def _kind_and_condition(text: str) -> tuple[str, tuple[str, ...]]:
    """Return the kind of a join, and its condition if it has one."""
    kind, *condition = split(text.removeprefix("Join "))
    return kind, tuple(condition[:1])


def _counts(text: str, inputs: int) -> list[int]:
    """Return the number of keys of each input of a function on groups."""
    if inputs > 1:
        parts = split(text.partition(" ")[2])
        return [int(each) for each in parts[:inputs]]
    return [len(split(bracketed(text)[0]))]


def _step(line: PlanLine, known: Mapping[str, str]) -> str:
    name = line.text.partition(" ")[0]
    return stable(resolved(line.text, known)) if name in _WITH_CONDITION else name


def _leaf(text: str) -> str:
    name = text.partition(" ")[0]
    if name in _ROWS:
        columns = ", ".join(resolved(each, {}) for each in split((bracketed(text) or [""])[0]))
        return stable(f"rows [{columns}]")
    return stable(_SPLITS.sub("", resolved(text, {})))


def _reads(leaves: Sequence[str], paths: Sequence[str]) -> tuple[str, ...]:
    """Return the relations for people: without columns, and files by their paths."""
    names = []
    for leaf in leaves:
        named = _NAMED_RELATION.match(leaf)
        if not leaf.startswith(_FILES):
            names.append(named[1] if named else leaf.partition(" ")[0])
    return tuple(dict.fromkeys([*paths, *names]))
