"""Read the order and the functions of a window from the line that Spark prints for it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from evenkey.reports.diagnosis.reading.spark_plans import split_keys

if TYPE_CHECKING:
    from evenkey.reports.diagnosis.reading.spark_plans import KeyedRead

_ORDER = re.compile(r"(?P<column>.+) (?P<way>ASC|DESC) NULLS (?P<nulls>FIRST|LAST)")
_USUAL = {"ASC": "FIRST", "DESC": "LAST"}
_COLUMN = re.compile(r"[\w ]+")


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
