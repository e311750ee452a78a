"""Read the criterion of a claim from the fields of its entry in the register."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, TypeAlias

from evenkey.papers.claims.comparisons import sides
from evenkey.papers.claims.criteria import Criterion, words
from evenkey.papers.claims.figures_in_words import (
    common,
    named,
    number,
    percent,
    settings,
    sided,
    without,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evenkey.papers.claims.comparisons import Side
    from evenkey.papers.claims.criteria import Kind
    from evenkey.papers.claims.shown_values import Measure

    _Pairs: TypeAlias = "list[tuple[Side, Side | None]]"
    _Rule: TypeAlias = "tuple[Kind, _Pairs, list[float], str]"

RULES = {
    *("measure", "word", "where", "per", "floor", "minus", "relative_to"),
    *("more", "less", "rising", "value", "of", "is", "change", "at_most", "at_least", "outside"),
}
"""The fields of an entry that state its criterion."""

_NUMBERS = {"at_most": "at most", "at_least": "at least", "is": "is"}
_FEW = 2
_DIGITS = 6
_MANY = 6


def criterion(fields: Mapping[str, Any], measure: Measure) -> Criterion:
    """Make the criterion of a claim for one of its measures.

    Raises
    ------
    ValueError
        The claim's word has no definition.
    """
    name = fields.get("word", "limit")
    if name not in words():
        message = (
            f"paper claim {fields['id']}: word = {name!r} has no definition; use one of "
            f"{[*words()]}"
        )
        raise ValueError(message)
    kind, pairs, numbers, rule = _rule(fields)
    low, high = fields.get("outside", (0.0, 0.0))
    where = fields.get("where", {})
    return Criterion(
        measure=measure,
        kind=kind,
        pairs=pairs,
        word=words()[name],
        says=f"{measure.words}: {rule}{_conditions(fields, where)}",
        numbers=numbers,
        only={key: [text] if isinstance(text, str) else text for key, text in where.items()},
        per=fields.get("per", "each"),
        change="change" in fields,
        upper="at_least" not in fields,
        floor=fields.get("floor", 0.0),
        minus=fields.get("minus", 0.0),
        relative_to=fields.get("relative_to"),
        gap=(low, high),
    )


def _rule(fields: Mapping[str, Any]) -> _Rule:
    """Return kind, pairs, numbers and description of a criterion."""
    word = fields.get("word", "")
    if "rising" in fields:
        steps = sides(fields["rising"])
        # All pairs, so that a result that lacks some of the steps can still contradict the order.
        rising = [(more, less) for less, more in itertools.combinations(steps, 2)]
        amount = "" if word == "more" else f", {word} more at each step"
        return "direction", [*rising], [1.0] * len(rising), _chain(steps) + amount
    if "more" in fields:
        more, less = fields["more"], fields["less"]
        pairs = _pairs(more, less)
        amount = "more than" if word == "more" else f"{word} more than"
        return "direction", pairs, [1.0] * len(pairs), _each(more, less, f" {amount} ")
    value, of = fields["value"], fields.get("of")
    pairs = _pairs(value, of)
    figure = _each(value, of, " / ")
    if "outside" in fields:
        low, high = fields["outside"]
        gap = f"{figure} not between {number(low)} and {number(high)}"
        return "gap", pairs, [1.0] * len(pairs), gap
    for field, says in _NUMBERS.items():
        if field in fields:
            numbers, text = _numbers(fields, pairs, says, fields[field])
            return "size" if field == "is" else "limit", pairs, numbers, text
    if "change" in fields:
        change = fields["change"]
        said = f"{_each(value, of, ' against ')} is {percent(change)} ({word})"
        return "size", pairs, [change] * len(pairs), said
    return "size", pairs, [1.0] * len(pairs), _each(value, of, f" {word} to ")


def _numbers(
    fields: Mapping[str, Any], pairs: _Pairs, says: str, wanted: Any
) -> tuple[list[float], str]:
    """Return the number for each pair, and the numbers in words."""
    word = fields.get("word", "")
    strict = (word and f" ({word})") + _less(fields)
    if isinstance(wanted, list):
        verb = "" if says == "is" else f"{says} "
        return wanted, verb + _listed(pairs, wanted, strict)
    text = f"{_each(fields['value'], fields.get('of'), ' / ')} {says} {number(wanted, _DIGITS)}"
    return [wanted] * len(pairs), text + strict


def _listed(pairs: _Pairs, numbers: list[float], strict: str) -> str:
    """Describe numbers of several sides: each with its side, then what all sides have."""
    every = common(pairs)
    found = []
    for (one, two), wanted in zip(pairs, numbers, strict=True):
        figure = sided(without(one, every), two and without(two, every), " / ")
        found.append(f"{number(wanted, _DIGITS)} for {figure}")
    conditions = "".join(f"; {named(key, [text], always=True)}" for key, text in every.items())
    return ", ".join(found) + strict + conditions


def _pairs(one: Any, two: Any) -> _Pairs:
    """Pair two lists of sides one by one, or two sides in all combinations."""
    if two is None:
        return [(side, None) for side in (one if isinstance(one, list) else sides(one))]
    if isinstance(one, list):
        return list(zip(one, two, strict=True))
    return [(left, right) for left in sides(one) for right in sides(two)]


def _each(one: Any, two: Any, between: str) -> str:
    """Describe a comparison, or several if the sides are lists; of very many only two."""
    if not isinstance(one, list):
        return sided(one, two, between)
    others = [None] * len(one) if two is None else two
    found = [sided(*each, between) for each in zip(one, others, strict=True)]
    if len(found) > _MANY:
        keys = ", ".join(one[0])
        return f"{len(found)} combinations of {keys}, from {found[0]} to {found[-1]},"
    return ", ".join(found)


def _chain(steps: list[Side]) -> str:
    """Describe an order: of names, or of the numbers of a key."""
    ((key, first),) = steps[0].items()
    texts = [step[key] for step in steps]
    if not first[:1].isdigit():
        return " < ".join(texts)
    start, *others = (named(key, [text]) for text in texts)
    others = [each.rpartition(" = ")[2] for each in others]
    if len(others) > _FEW:
        return f"rises step by step from {start} to {others[-1]}"
    return " to ".join([f"rises from {start}", *others])


_PER = {
    "each": "",
    "generally": ", in three quarters of the settings",
    "most": ", in the setting where it is most",
    "median": ", in the median setting",
}


def _conditions(fields: Mapping[str, Any], where: Mapping[str, Any]) -> str:
    only = "".join(
        f"; {named(key, [texts] if isinstance(texts, str) else texts, always=True)}"
        for key, texts in where.items()
    )
    relative = fields.get("relative_to")
    base = f"; values divided by those of {settings(relative)}" if relative else ""
    floor = fields.get("floor", 0.0)
    least = (
        number(floor)
        if isinstance(floor, float)
        else ", ".join(f"{number(v)} ({k})" for k, v in floor.items())
    )
    below = f"; values below {least} count as equal" if floor else ""
    return f"{_PER[fields.get('per', 'each')]}{only}{base}{below}"


def _less(fields: Mapping[str, Any]) -> str:
    return f", both less {number(fields['minus'])}" if "minus" in fields else ""
