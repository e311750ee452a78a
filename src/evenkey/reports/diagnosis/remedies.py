"""Remedies: the changes that a diagnosis offers, and those of evenkey for the work of a stage.

Which remedies fit depends on the operator of the stage. If partial results of a key can be merged,
keys can be split. If the work needs all rows of a key together, keys stay whole and can only be
placed better. Every call that a remedy proposes exists in this version of evenkey.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from string import Template
from typing import TYPE_CHECKING, Literal

from evenkey.reports.diagnosis.operator_lines import as_of_match, runs_python, window_order

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.diagnosis.reading.spark_plans import KeyedRead

How = Literal[
    "split",
    "whole",
    "broadcast",
    "adaptive",
    "nulls",
    "drop",
    "partitions",
    "rebalance",
    "repartition",
    "memory",
    "replace",
]
"""What a remedy does. evenkey splits keys over workers, or places each key on one worker."""

Confidence = Literal["high", "medium", "low"]
"""How far the predicted effect of a change can be relied on."""

_KINDS: tuple[tuple[tuple[str, ...], str], ...] = (
    (("StreamingSymmetricHashJoin", "TransformWithState", "StreamingDeduplicate"), "state"),
    (("FlatMapGroupsInPandasWithState", "FlatMapGroupsWithState"), "state"),
    (("FlatMapCoGroups", "CoGroup"), "cogroups"),
    (("FlatMapGroups", "MapGroups"), "groups"),
    (("ArrowAggregatePython", "AggregateInPandas", "ArrowAggregate"), "aggregate"),
    (("SortMergeJoin", "ShuffledHashJoin"), "join"),
    (("SortMergeAsOfJoin",), "as-of join"),
    (("WindowGroupLimit",), "first rows"),
    (("Window", "ArrowWindowPython"), "window"),
    (("WriteFiles", "Execute InsertInto"), "write"),
    (("HashAggregate", "ObjectHashAggregate", "SortAggregate"), "own aggregate"),
)
_STATEFUL = "StateStore"
_OWN = "__evenkey_"

KIND_OF_JOIN = {
    "Inner": "inner",
    "LeftOuter": "left",
    "LeftSemi": "semi",
    "LeftAnti": "anti",
    "RightOuter": "right",
    "FullOuter": "full",
}


@dataclass(frozen=True)
class Remedy:
    """A change to the user's code or settings.

    Parameters
    ----------
    how
        What it does.
    condition
        The condition under which the change can be made, or what else the change needs.
    code
        The lines to write.
    counted, readings
        Number of exchanges whose input is read again, to count the keys for a plan, and how often.
        0 in a stream, because its plans use the counts of earlier epochs.
    by
        Whose answer it is: ``evenkey``, or ``spark`` if Spark alone suffices.
    certainty
        The most confidence that its predicted effect deserves, whatever the log says.
    piece_bytes
        For ``adaptive``, the size in bytes of the pieces of a large partition.
    """

    how: How
    condition: str
    code: str
    counted: int = 1
    readings: int = 1
    by: Literal["evenkey", "spark"] = "evenkey"
    certainty: Confidence = "high"
    piece_bytes: int = 0

    @classmethod
    def of_spark(cls, how: How, condition: str, code: str, certainty: Confidence) -> Remedy:
        """Return an answer of Spark itself, which needs no counting."""
        return cls(how, condition, code, 0, by="spark", certainty=certainty)


def kind_of(read: KeyedRead) -> str:
    """Return the kind of work that a stage does on the rows of its keys.

    Returns
    -------
    str
        ``groups``, ``cogroups``, ``aggregate`` (a Python aggregate), ``own aggregate`` (an
        aggregate of Spark), ``join``, ``as-of join``, ``window``, ``first rows`` (the first rows of
        each key by a window), ``write``, ``state``, or ``rows`` (work row by row after a
        repartition), or ``scan``.
    """
    if not read.exchanges:
        return "scan"
    for names, kind in _KINDS:
        if read.operator.startswith(names):
            return kind
    return "state" if _STATEFUL in read.operator else "rows"


def remedies_for(read: KeyedRead, workers: int, *, stream: bool) -> list[Remedy]:
    """Return evenkey's remedies for a stage, the strongest first; empty if there are none.

    Parameters
    ----------
    read
        The stage's operator by key (join, aggregate, ...), as found in the query plan, and the
        exchanges that feed it.
    workers
        Number of workers in the code that a remedy suggests.
    stream
        Whether the stage belongs to an epoch of a streaming query.
    """
    names, note = names_of(read.exchanges[0].keys)
    listed = quoted_names(names)
    key = listed if len(names) == 1 else f"[{listed}]"
    other, noted = names_of(read.exchanges[-1].keys)
    note = note or noted
    order = window_order(read.text)
    filled = {
        "key": key,
        "keys": listed,
        "other_keys": quoted_names(other),
        "order": order,
        "workers": workers,
        "method": "applyInArrow" if read.operator.endswith("InArrow") else "applyInPandas",
    }
    kind = kind_of(read)
    if kind == "join":
        remedies = _of_join(read, stream=stream)
    elif kind == "as-of join":
        remedies = [] if stream else _of_as_of_join(read)
    elif kind == "window" and order and not stream and not runs_python(read):
        remedies = [_OVER]
    elif kind == "rows":
        remedies = [_SPREAD] if not stream else []
    elif kind in _BY_KIND and not stream:
        remedies = list(_BY_KIND[kind])
    elif kind in ("groups", "aggregate"):
        remedies = [replace(_FOLD, counted=0)]
    else:
        remedies = []
    return [
        replace(
            each,
            condition=" ".join(filter(None, (each.condition, note))),
            code=Template(each.code).substitute(filled),
        )
        for each in remedies
    ]


def why_none(read: KeyedRead, *, stream: bool) -> str:
    """Return the reason why evenkey has no remedy for a stage."""
    kind = kind_of(read)
    own = read.exchanges[0].origin != "ENSURE_REQUIREMENTS"
    if kind == "own aggregate" and own:
        return "remove the repartition before it: Spark then combines rows before its own shuffle"
    reasons = {
        "state": "the state of a key stays where Spark placed the key",
        "join": "evenkey has no remedy for a join of this kind",
        "as-of join": "evenkey has no remedy for an as-of join of this kind",
        "own aggregate": "Spark's own aggregate, which it combines as far as it can",
        "first rows": "before its shuffle Spark keeps only the first rows of each key",
    }
    if kind in reasons:
        return reasons[kind]
    return "evenkey has no remedy for it in a stream" if stream else "evenkey has no remedy for it"


_FOLD = Remedy(
    "split",
    "if the work on parts of a key can be merged:",
    'eks.aggregate(df, $key, "planned", workers=$workers, aggregator=YourFold())',
)
_MERGED = Remedy(
    "split",
    "if the work on parts of a key can be merged:",
    "eks.groupBy(df, $keys, workers=$workers).$method(work, schema, merge=merge)",
)
_WHOLE = Remedy(
    "whole",
    "if it needs all rows of a key:",
    "eks.groupBy(df, $keys, workers=$workers).$method(work, schema)",
    certainty="medium",
)
_COGROUPS = Remedy(
    "whole",
    "keys stay whole, and the keys that are hottest on both sides together are placed first:",
    "eks.groupBy(left, $keys, workers=$workers).cogroup(eks.groupBy(right, $other_keys))"
    ".$method(work, schema)",
    counted=2,
    certainty="medium",
)
_PLACED = Remedy(
    "whole",
    "if it needs all rows of a key; the rows get two more columns, worker and split:",
    'placed = eks.place(eks.route(df, $key, "off-greedy", $workers), $workers, by="split", '
    'key=$key)\nplaced.groupBy($keys, "split").agg(...)',
    certainty="medium",
)
_WINDOW = Remedy(
    "whole",
    "keys stay whole, and the hottest keys are placed first:",
    'placed = eks.place(eks.route(df, $key, "off-greedy", $workers), $workers, by="split", '
    'key=$key)\nWindow.partitionBy($keys, "split")',
    certainty="medium",
)
_OVER = Remedy(
    "split",
    "columns has a function of Spark for each new column, such as F.row_number(), and no order "
    "value has more rows than a task should have:",
    "eks.over(df, $key, $order, columns, workers=$workers)",
    readings=3,
    certainty="medium",
)
_SPREAD = Remedy(
    "split",
    "if the next step accepts the rows of a key in several tasks:",
    'eks.place(eks.route(df, $key, "planned", $workers), $workers)',
)
_WRITE = Remedy(
    "split",
    "if the table is partitioned by these columns:",
    "eks.partition_for_write(df, $key, files=$workers).write.partitionBy($keys)",
)
_BY_KIND = {
    "groups": (_MERGED, _WHOLE),
    "cogroups": (_COGROUPS,),
    "aggregate": (_FOLD, _PLACED),
    "window": (_WINDOW,),
    "write": (_WRITE,),
}


def _of_join(read: KeyedRead, *, stream: bool) -> list[Remedy]:
    """Return the remedy for a join: spread one side of a hot key over workers, copy the other."""
    how = KIND_OF_JOIN.get(read.join_type or "")
    if how is None or len(read.exchanges) < 2:  # noqa: PLR2004 - a join has two sides
        return []
    code = f'eks.join(left, right, [$keys], "{how}", workers=$workers)'
    notes = ["if one side is static:"] if stream else []
    notes.extend(_notes_on_names(read))
    return [Remedy("split", " ".join(notes), code, 0 if stream else 2)]


def _of_as_of_join(read: KeyedRead) -> list[Remedy]:
    """Return the remedy for SQL's `ASOF JOIN`: cut each hot key at values of the time."""
    how, match = KIND_OF_JOIN.get(read.join_type or ""), as_of_match(read.text)
    if how is None or match is None or len(read.exchanges) < 2:  # noqa: PLR2004 - it has two sides
        return []
    times = ", ".join(
        f"F.expr({name})" if names_of([time])[1] else name
        for time, name in ((each, quoted_names([each])) for each in match.times)
    )
    options = f"{match.options}, " if match.options else ""
    code = f'eks.asof_join(left, right, [$keys], {times}, "{how}", {options}workers=$workers)'
    notes = " ".join(_notes_on_names(read))
    return [Remedy("split", notes, code, 2, readings=4, certainty="medium")]


def _notes_on_names(read: KeyedRead) -> list[str]:
    """Return what a join by names needs if its sides have different ones."""
    first, second = (names_of(exchange.keys)[0] for exchange in read.exchanges[:2])
    return [] if first == second else ["if the key has the same name on both sides:"]


def quoted_names(names: Sequence[str]) -> str:
    """Return the names of columns as arguments in code."""
    return ", ".join(json.dumps(each, ensure_ascii=False) for each in names)


def names_of(keys: Sequence[str]) -> tuple[Sequence[str], str]:
    """Return the columns of a key, and a note on what to do first if a column is an expression."""
    # A stage of evenkey's own groupBy has an additional key column, which is left out.
    keys = [each for each in keys if not each.startswith(_OWN)]
    if all(each.replace("_", "a").replace(" ", "a").isalnum() for each in keys):
        return keys, ""
    return ["key"], f"(first add a column named key with {', '.join(keys)})"
