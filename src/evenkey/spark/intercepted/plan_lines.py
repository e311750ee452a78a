"""Parse an analysed plan, as Spark prints it, into operators with resolved expressions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

_MARGIN = re.compile(r"[ :+-]*")
_ATTRIBUTE = re.compile(r"(\w*)#(\d+)L?")
_ID = re.compile(r"#(\d+)L?$")
_DEFINING = ("Project ", "Aggregate ")
_LONGEST, _DEEPEST = 2_000, 20
"""An expression is not resolved further if it is longer, or after so many steps."""


class PlanLine(NamedTuple):
    """An operator of a plan: the column where its name begins, and its text."""

    column: int
    text: str

    def fields(self) -> list[str]:
        """Return the expressions in the operator's square brackets."""
        return [part for group in bracketed(self.text) for part in split(group)]


def lines_of(plan: str) -> list[PlanLine]:
    """Return the operators of a printed plan, from its root down."""
    lines = []
    for line in plan.splitlines():
        margin = _MARGIN.match(line)
        column = margin.end() if margin else 0
        if line[column:]:
            lines.append(PlanLine(column, line[column:]))
    return lines


def end_of(lines: Sequence[PlanLine], place: int) -> int:
    """Return the place after the operator at a place and all operators below it."""
    end = place + 1
    while end < len(lines) and lines[end].column > lines[place].column:
        end += 1
    return end


def children(lines: Sequence[PlanLine], place: int) -> Iterator[int]:
    """Yield the places of the operators from which the operator at a place reads its rows."""
    below = range(place + 1, end_of(lines, place))
    for each in below:
        if lines[each].column == lines[below[0]].column:
            yield each


def definitions(lines: Sequence[PlanLine]) -> dict[str, str]:
    """Return the expression of each column that the plan computes, by the column's id."""
    found = {}
    for line in lines:
        if line.text.startswith(_DEFINING):
            for field in line.fields():
                expression, named, alias = field.rpartition(" AS ")
                attribute = _ID.search(alias)
                if named and attribute is not None:
                    found[attribute[1]] = expression
    return found


def resolved(expression: str, known: Mapping[str, str]) -> str:
    """Replace computed columns by their expressions, and leave out the ids of all others.

    Examples
    --------
    >>> resolved("(k#7 = id#2L)", {"7": "upper(user#1)"})
    '(upper(user) = id)'
    """
    for _ in range(_DEEPEST):
        deeper = _ATTRIBUTE.sub(lambda found: known.get(found[2], found[0]), expression)
        if deeper == expression or len(deeper) > _LONGEST:
            break
        expression = deeper
    return _ATTRIBUTE.sub(r"\1", expression)


def bracketed(text: str) -> list[str]:
    """Return the contents of the outermost square brackets of a text.

    Examples
    --------
    >>> bracketed("Aggregate [user#1], [user#1, count(1) AS count#2L]")
    ['user#1', 'user#1, count(1) AS count#2L']
    """
    found, depth, begin = [], 0, 0
    for place, character in enumerate(text):
        if character == "[":
            begin = begin if depth else place + 1
            depth += 1
        elif character == "]" and depth:
            depth -= 1
            if not depth:
                found.append(text[begin:place])
    return found


def split(text: str) -> list[str]:
    """Split a text at the commas that are in no brackets.

    Examples
    --------
    >>> split("user#1, concat(a#2, b#3) AS k#4")
    ['user#1', 'concat(a#2, b#3) AS k#4']
    """
    parts, depth = [""], 0
    for character in text:
        depth += (character in "([") - (character in ")]")
        if character == "," and depth <= 0:
            parts.append("")
        else:
            parts[-1] += character
    return [part.strip() for part in parts if part.strip()]
