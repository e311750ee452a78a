"""Read from Spark's physical plan whether Spark itself moves the rows of a call; no job runs.

Spark moves no rows that are in the right partitions already: after ``repartition``, a window, a
join or an aggregate by the same key. Then the rows of a key come in an order that the user may have
made, as by ``sortWithinPartitions``. A shuffle would destroy it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenkey.spark.intercepted.describing import analysed_text
from evenkey.spark.intercepted.plan_lines import children, end_of, lines_of
from evenkey.spark.sessions.printed_plans import printed_plan

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql import DataFrame

    from evenkey.spark.intercepted.intercepted_call import InterceptedCall
    from evenkey.spark.intercepted.plan_lines import PlanLine

_OWN = {
    "group": re.compile(r"\w*FlatMapGroupsIn"),
    "cogroup": re.compile(r"\w*FlatMapCoGroupsIn"),
    "join": re.compile(r"\w*Join\b"),
    "window": re.compile(r"\w*Window(?!GroupLimit)"),
}
_STAGE = re.compile(r"\*\(\d+\) ")
"""Matches what Spark prints before an operator that it compiles."""
_SORT = re.compile(r"\w*Sort \[.*\], false, \d+$")
_SHUFFLE = re.compile(
    r"(?:ReusedExchange \[.*\], )?\w*Exchange hashpartitioning\(.*\bENSURE_REQUIREMENTS\b"
)
"""Matches a shuffle that Spark added; the user's ``repartition`` is printed with another word."""
_CACHED = re.compile(r"\w*InMemoryTableScan\b")
_NOT_COMPUTED = "AdaptiveSparkPlan isFinalPlan=false"
_ORDER = re.compile(r"^[ :+-]*(?:Sort|Window) ", re.MULTILINE)
"""Matches operators of an analysed plan that order rows."""
_PLACED = re.compile(r"hashpartitioning\(|rangepartitioning\(|SinglePartition\b")


def keeps_order(call: InterceptedCall) -> bool:
    """Return whether Spark's own method may keep an order of rows that a shuffle would destroy.

    A function gets the rows of a key in the order of its input, unless Spark shuffles this input by
    the key. Spark promises no order of the rows of a join, but keeps one that the user has made by
    a sort or a window.

    Parameters
    ----------
    call
        A call with a result: no write.
    """
    # A result that the user gets must not be planned here: rows may be cached until it is used.
    text = printed_plan(call.spark(*call.frames))
    moved = _moved_inputs(text, _OWN[call.kind], len(call.frames))
    if call.kind != "join":
        return not all(moved)
    return any(
        not each and _ORDER.search(analysed_text(frame)) is not None
        for each, frame in zip(moved, call.frames, strict=True)
    )


def moves_rows_of_window(frame: DataFrame) -> bool:
    """Return whether Spark shuffles the rows that the topmost window of a plan reads.

    Parameters
    ----------
    frame
        A DataFrame that the user does not get.
    """
    return all(_moved_inputs(printed_plan(frame), _OWN["window"], 1))


def _moved_inputs(text: str, own: re.Pattern[str], inputs: int) -> list[bool]:
    r"""Return whether the topmost operator of a kind reads a shuffle, for each of its inputs.

    Examples
    --------
    >>> plan = "MapIn\n+- Sort [k#1 ASC], false, 0\n   +- {}\n      +- Range (0, 9)"
    >>> added = "Exchange hashpartitioning(k#1, 200), ENSURE_REQUIREMENTS"
    >>> by_user = "Exchange hashpartitioning(k#1, 200), REPARTITION_BY_COL"
    >>> [_moved_inputs(plan.format(each), re.compile("MapIn"), 1) for each in (added, by_user)]
    [[True], [False]]
    """
    lines = [
        line._replace(text=_STAGE.sub("", line.text, count=1))
        for line in lines_of(text)
        if not line.text.startswith("==")
    ]
    place = next((number for number, line in enumerate(lines) if own.match(line.text)), None)
    below = [] if place is None else list(children(lines, place))
    if len(below) != inputs:
        return [False] * inputs
    return [_is_moved(lines, each) for each in below]


def _is_moved(lines: Sequence[PlanLine], place: int) -> bool:
    if _SORT.match(lines[place].text):
        place += 1
    if not _SHUFFLE.match(lines[place].text):
        return False
    # Once cached rows are computed, Spark knows their partitions, and may drop the shuffle.
    block = [line.text for line in lines[place : end_of(lines, place)]]
    cached = next((number for number, each in enumerate(block) if _CACHED.match(each)), None)
    if cached is None:
        return True
    waits = any(each.startswith(_NOT_COMPUTED) for each in block[cached:])
    return not (waits and any(map(_PLACED.search, block[cached:])))
