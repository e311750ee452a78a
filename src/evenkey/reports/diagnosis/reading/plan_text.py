"""Parse plans from the text that Spark prints; some sources contain no other form of a plan."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evenkey.reports.diagnosis.reading import limits
from evenkey.reports.diagnosis.reading.spark_plans import Node

if TYPE_CHECKING:
    from collections.abc import Iterator

_OPERATOR = re.compile(r"^(?P<margin>[ :+-]*)(?P<mark>\* )?(?P<name>\w.*?) \((?P<number>\d+)\)")
_DETAILS = re.compile(r"^\((?P<number>\d+)\) (?P<title>.+)$")
_REUSED = re.compile(r"Reuses operator id: (\d+)")
_FUNCTIONS = re.compile(r"^Functions(?: \[\d+\])?: (.*)$")
_SHOWN = ("Arguments: ", "Join type: ")
_INITIAL = "== Initial Plan =="


def read_plan(text: str) -> Node | None:
    """Parse a plan as ``explain("formatted")`` prints it; of an adaptive plan, the final plan.

    Returns
    -------
    Node or None
        The plan; its operators have no counters. None: the text has no plan.

    Examples
    --------
    >>> plan = read_plan('''== Physical Plan ==
    ... * HashAggregate (2)
    ... +- Exchange (1)
    ...
    ... (1) Exchange
    ... Arguments: hashpartitioning(user#1, 8), ENSURE_REQUIREMENTS, [plan_id=4]''')
    >>> plan.name, plan.children[0].text
    ('HashAggregate', 'Exchange hashpartitioning(user#1, 8), ENSURE_REQUIREMENTS, [plan_id=4]')
    """
    tree, details = _parts(text)
    if not tree:
        return None
    return _node(tree, 0, details)


def _parts(text: str) -> tuple[list[tuple[int, str, int]], dict[int, str]]:
    """Return (column, name, number) of each operator, from the root down, and details by number."""
    lines = iter(text.splitlines())
    return _tree(lines), _details(lines)


def _tree(lines: Iterator[str]) -> list[tuple[int, str, int]]:
    tree: list[tuple[int, str, int]] = []
    initial: int | None = None
    for line in lines:
        if tree and not line.strip():
            break
        if _INITIAL in line:
            initial = len(line) - len(line.lstrip(" :+-"))
        found = _OPERATOR.match(line)
        if found is None:
            continue
        column = len(found["margin"])
        if initial is not None and column >= initial:
            continue
        initial = None
        tree.append((column, found["name"], int(found["number"])))
    return tree


def _details(lines: Iterator[str]) -> dict[int, str]:
    details: dict[int, str] = {}
    number, name = 0, ""
    for line in lines:
        title = _DETAILS.match(line)
        if title:
            number, name = int(title["number"]), title["title"].partition(" [")[0]
            reused = _REUSED.search(title["title"])
            details[number] = f"{name} {details.get(int(reused[1]), '')}" if reused else name
        elif number and line.startswith(_SHOWN):
            details[number] += " " + line.partition(": ")[2]
        elif number and (functions := _FUNCTIONS.match(line)):
            details[number] += f" {name}(functions={functions[1]})"
        elif line.startswith("===== "):  # subqueries have their own trees
            break
    return details


def _node(tree: list[tuple[int, str, int]], place: int, details: dict[int, str]) -> Node:
    column, name, number = tree[place]
    children = []
    below: int | None = None
    for later in range(place + 1, len(tree)):
        if tree[later][0] <= column:
            break
        below = tree[later][0] if below is None else below
        if tree[later][0] == below:
            children.append(_node(tree, later, details))
    return Node(limits.text(name), limits.text(details.get(number, name)), tuple(children))
