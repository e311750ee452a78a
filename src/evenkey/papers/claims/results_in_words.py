"""Our results in words: the compared figures, and the settings in which a criterion fails."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Protocol

from evenkey.papers.claims.figures_in_words import (
    common,
    factor,
    number,
    percent,
    ranged,
    settings,
    sided,
    without,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkey.papers.claims.comparisons import Compared, Side

__all__ = ["result"]

_FEW = 3
_EACH = 9
_DIGITS = 5
_QUANTITY = "Quantity"


class Judging(Protocol):
    """What is read of a criterion."""

    @property
    def kind(self) -> str: ...
    @property
    def pairs(self) -> Sequence[tuple[Side, Side | None]]: ...
    @property
    def numbers(self) -> Sequence[float]: ...
    @property
    def only(self) -> Mapping[str, Sequence[str]]: ...
    @property
    def change(self) -> bool: ...
    @property
    def minus(self) -> float: ...
    def distance(self, each: Compared) -> float: ...
    def within(self, each: Compared) -> bool: ...


def result(criterion: Judging, values: Sequence[Compared], held: Sequence[bool]) -> str:
    """Return the compared figures in words, and the worst of those that fail."""
    text = _figures(criterion, values)
    failing = [each for each, holds in zip(values, held, strict=True) if not holds]
    if failing and len(values) > 1:
        worst = sorted(failing, key=criterion.distance, reverse=True)[:_FEW]
        listed = ", ".join(f"{_label(criterion, each)} ({_one(criterion, each)})" for each in worst)
        most = ", worst" if len(failing) > len(worst) else ""
        text += f"; fails in {len(failing)}{most}: {listed}"
    if criterion.kind == "direction":
        text += "".join(dict.fromkeys(map(_unconfirmed, failing)))
    if criterion.kind == "limit" and any(map(criterion.within, failing)):
        text += "; a run is beyond the limit"
    return text


def _figures(criterion: Judging, values: Sequence[Compared]) -> str:
    """Return the range of all figures, or those of each side if they are of different things."""
    firsts = [one for one, _ in criterion.pairs]
    several = len({*criterion.numbers}) > 1 or len({one.get(_QUANTITY) for one in firsts}) > 1
    groups: dict[str, list[Compared]] = {}
    for each in values:
        groups.setdefault(_side(criterion, *each.sides), []).append(each)
    if several and 1 < len(groups) <= _EACH:
        return "; ".join(f"{name}: {_range(criterion, group)}" for name, group in groups.items())
    return _range(criterion, values)


def _range(criterion: Judging, values: Sequence[Compared]) -> str:
    ordered = sorted(values, key=lambda each: each.ratio)
    endless = sum(math.isinf(each.ratio) for each in values)
    text = ranged([_shown(criterion, each) for each in ordered])
    if endless and len(values) > endless:
        divided = f"in {endless} of them the lower value is 0"
        text = f"{_shown(criterion, ordered[0])} or more in {len(values)} settings ({divided})"
    elif endless:
        text += " (divided by 0)"
    if criterion.minus:
        less = ranged([number(each.measured, _DIGITS) for each in ordered]).partition(" in ")[0]
        text += f" (less {criterion.minus:g}: {less})"
    return text


def _one(criterion: Judging, each: Compared) -> str:
    return _range(criterion, [each]).replace(" (", ", ").rstrip(")")


def _shown(criterion: Judging, each: Compared) -> str:
    if criterion.change:
        return percent(each.ratio - 1)
    if each.sides[1] is None:
        if criterion.minus:
            return number(each.measured + criterion.minus, _DIGITS)
        return number(each.measured)
    return factor(each.ratio)


def _side(criterion: Judging, one: Side, two: Side | None) -> str:
    """Return what tells a pair of sides from the others of a criterion; of a single pair, all."""
    if two is None and len(criterion.pairs) == 1:
        return settings(one)
    every = common(criterion.pairs)
    return sided(without(one, every), None if two is None else without(two, every))


def _label(criterion: Judging, each: Compared) -> str:
    """Return the sides and the setting of two figures, without what all settings have."""
    one, two = each.sides
    fixed = {key: text[0] for key, text in criterion.only.items() if len(text) == 1}
    setting = without(each.setting, fixed)
    parts = [_side(criterion, one, two), settings(setting, ", ")]
    return " at ".join(filter(None, parts)) or sided(one, two)


def _unconfirmed(each: Compared) -> str:
    """Return that the runs of two timed values show no order; empty if they do."""
    one, two = each.one, each.two
    timed = one.least < one.most or two.least < two.most
    if not timed or one.above(two) or two.above(one):
        return ""
    return "; not in every run" if one.paired(two) else "; ranges of runs overlap"
