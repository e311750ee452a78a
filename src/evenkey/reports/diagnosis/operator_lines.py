"""Read windows and as-of joins from the lines that Spark prints for these operators."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, NamedTuple

from evenkey.reports.diagnosis.reading.spark_plans import split_keys

if TYPE_CHECKING:
    from evenkey.reports.diagnosis.reading.spark_plans import KeyedRead

_ORDER = re.compile(r"(?P<column>.+) (?P<way>ASC|DESC) NULLS (?P<nulls>FIRST|LAST)")
_USUAL = {"ASC": "FIRST", "DESC": "LAST"}
_COLUMN = re.compile(r"[\w ]+")
_PARTS = 5
"""An as-of join's first parts: keys of the left and the right side, both times, the condition."""
_OPTIONS = {
    ">=": "",
    ">": "allow_exact_matches=False",
    "<=": 'direction="forward"',
    "<": 'direction="forward", allow_exact_matches=False',
}


class AsOfMatch(NamedTuple):
    """How an as-of join matches rows.

    Parameters
    ----------
    times
        Time of the left and of the right side, as Spark prints them.
    options
        Arguments of ``asof_join`` in code for the direction and for equal times; empty: the
        defaults.
    """

    times: tuple[str, str]
    options: str


def window_order(text: str) -> str:
    """Return the order of a window as an argument in code; empty if it has none.

    Examples
    --------
    >>> window_order("Window [row_number() AS n#5], [user#1L], [at#2 ASC NULLS FIRST]")
    '"at"'
    >>> order = "[at#2 DESC NULLS LAST, id#3L ASC NULLS FIRST]"
    >>> window_order(f"Window [rank(at#2) AS n#5], [user#1L], {order}")
    '[F.desc("at"), "id"]'
    >>> window_order("Window [sum(id#3L) AS n#5], [user#1L]")
    ''
    """
    last = _last_brackets(text)
    found = [_ORDER.fullmatch(each) for each in split_keys(last)]
    columns = [_ordered(each) for each in found if each is not None]
    if not columns or len(columns) < len(found):
        return ""
    return columns[0] if len(columns) == 1 else f"[{', '.join(columns)}]"


def runs_python(read: KeyedRead) -> bool:
    """Return whether a window has a Python function, whose rows cannot be cut into pieces."""
    return "Python" in read.operator or "Pandas" in read.operator


def as_of_match(text: str) -> AsOfMatch | None:
    """Return how an as-of join matches rows; None: the line is of another form.

    Examples
    --------
    >>> sides = "[k#1L], [k#5L], [t#2L], [u#6L]"
    >>> as_of_match(f"SortMergeAsOfJoin {sides}, (t#2L > u#6L), (t#2L - u#6L), Inner")
    AsOfMatch(times=('t', 'u'), options='allow_exact_matches=False')
    >>> as_of_match(f"SortMergeAsOfJoin {sides}") is None
    True
    """
    parts = list(split_keys(text))[:_PARTS]
    if len(parts) < _PARTS:
        return None
    left, right, condition = (each[1:-1] for each in parts[2:])
    for sign, options in _OPTIONS.items():
        if condition == f"{left} {sign} {right}":
            return AsOfMatch((left, right), options)
    return None


def _ordered(found: re.Match[str]) -> str:
    column, way, nulls = found["column"], found["way"], found["nulls"]
    name = json.dumps(column, ensure_ascii=False)
    plain = _COLUMN.fullmatch(column) is not None
    if _USUAL[way] == nulls:
        if way == "ASC":
            return name if plain else f"F.expr({name})"
        return f"F.desc({name})" if plain else f"F.desc(F.expr({name}))"
    named = f"F.col({name})" if plain else f"F.expr({name})"
    return f"{named}.{way.lower()}_nulls_{nulls.lower()}()"


def _last_brackets(text: str) -> str:
    """Return what is in the last pair of square brackets of a text."""
    if not text.endswith("]"):
        return ""
    depth = 0
    for place in range(len(text) - 1, -1, -1):
        depth += (text[place] == "]") - (text[place] == "[")
        if not depth:
            return text[place + 1 : -1]
    return ""
