"""Read the criterion of a claim from the fields of its entry in the register."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, TypeAlias

from evenkey.papers.claims.comparisons import sides
from evenkey.papers.claims.criteria import Criterion, words

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

_LARGE = 1000
_MANY = 4


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
        amount = "" if word == "more" else f", {word} more"
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
        return "gap", pairs, [1.0] * len(pairs), f"{figure} not between {low:g} and {high:g}"
    for field, says in (("at_most", "at most"), ("at_least", "at least"), ("is", "is")):
        if field in fields:
            numbers, shown = _numbers(fields[field], len(pairs))
            kind: Kind = "size" if field == "is" else "limit"
            return kind, pairs, numbers, f"{figure} {says} {shown}{word and f' ({word})'}"
    if "change" in fields:
        number = fields["change"]
        return "size", pairs, [number] * len(pairs), f"{figure} {100 * number:+g} % ({word})"
    return "size", pairs, [1.0] * len(pairs), f"{_each(value, of, ' and ')} {word}"


def _numbers(given: Any, pairs: int) -> tuple[list[float], str]:
    numbers = given if isinstance(given, list) else [given] * pairs
    shown = given if isinstance(given, list) else [given]
    return numbers, ", ".join(f"{each:,.0f}" if each >= _LARGE else f"{each:g}" for each in shown)


def _pairs(one: Any, two: Any) -> _Pairs:
    """Pair two lists of sides one by one, or two sides in all combinations."""
    if two is None:
        return [(side, None) for side in (one if isinstance(one, list) else sides(one))]
    if isinstance(one, list):
        return list(zip(one, two, strict=True))
    return [(left, right) for left in sides(one) for right in sides(two)]


def _each(one: Any, two: Any, between: str) -> str:
    """Describe a comparison, or several if the sides are lists."""
    if isinstance(one, list):
        others = [None] * len(one) if two is None else two
        return ", ".join(_each(*each, between) for each in zip(one, others, strict=True))
    return _text(one) if two is None else f"{_text(one)}{between}{_text(two)}"


def _chain(steps: list[Side]) -> str:
    """Describe an order; of many steps only the first two and the last."""
    shown = [_text(steps[0]), *(", ".join(step.values()) for step in steps[1:])]
    if len(shown) > _MANY:
        shown = [*shown[:2], "...", shown[-1]]
    return " < ".join(shown)


def _text(side: Mapping[str, Any]) -> str:
    parts = []
    for key, text in side.items():
        texts = ", ".join(text) if isinstance(text, list) else text
        # A bare number would not say what it is.
        parts.append(f"{key} = {texts}" if texts[:1].isdigit() else texts)
    return " at ".join(parts)


_PER = {
    "each": "",
    "generally": ", in three quarters of the settings",
    "most": ", in the setting where it is most",
    "median": ", in the median setting",
}


def _conditions(fields: Mapping[str, Any], where: Mapping[str, Any]) -> str:
    only = "".join(
        f"; {key} = {texts if isinstance(texts, str) else ', '.join(texts)}"
        for key, texts in where.items()
    )
    relative = fields.get("relative_to")
    base = f"; values divided by those of {_text(relative)}" if relative else ""
    floor = fields.get("floor", 0.0)
    least = (
        f"{floor:g}"
        if isinstance(floor, float)
        else ", ".join(f"{v:g} ({k})" for k, v in floor.items())
    )
    below = f"; values below {least} count as equal" if floor else ""
    minus = f"; all less {fields['minus']:g}" if "minus" in fields else ""
    return f"{_PER[fields.get('per', 'each')]}{only}{base}{minus}{below}"
