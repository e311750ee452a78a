"""Find the values that a criterion compares: pairs of values in the same setting."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from evenkey.papers.claims.shown_values import Row, Shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

Side: TypeAlias = Mapping[str, str]
"""What selects a side of a comparison: the texts of some keys."""

Floor: TypeAlias = "float | Mapping[str, float]"
"""Values below a floor count as equal to it: one floor, or a floor by the text of a key."""

_Setting: TypeAlias = tuple[tuple[str, str], ...]
_UNIT = Shown.one(1.0)


class Compared(NamedTuple):
    """Values that a criterion compares in a setting.

    Parameters
    ----------
    sides
        What selects the two values; the second is None if the first is compared with a number of
        the paper alone.
    setting
        The texts of the other keys.
    one, two
        The values, at least the floor. Without a second side the second value is 1.
    number
        The paper's number for the ratio of the two values; 1 if the paper calls them similar.
    measured
        The first value as it was before it was raised to the floor.
    """

    sides: tuple[Side, Side | None]
    setting: Mapping[str, str]
    one: Shown
    two: Shown
    number: float
    measured: float

    @property
    def ratio(self) -> float:
        """The first value divided by the second."""
        return self.one.over(self.two).value

    def furthest(self, *, upper: bool) -> float:
        """Return the largest ratio that the runs allow, or else the smallest."""
        quotient = self.one.over(self.two)
        return quotient.most if upper else quotient.least


def sides(given: Mapping[str, Any]) -> list[Side]:
    """Expand a side whose keys have several texts to one side for each combination.

    Examples
    --------
    >>> sides({"Method": ["KG", "PKG"], "W": "5"})
    [{'Method': 'KG', 'W': '5'}, {'Method': 'PKG', 'W': '5'}]
    """
    texts = [text if isinstance(text, list) else [text] for text in given.values()]
    return [dict(zip(given, each, strict=True)) for each in itertools.product(*texts)]


def where(rows: Sequence[Row], wanted: Mapping[str, Sequence[str]]) -> list[Row]:
    """Return the rows whose keys have one of the wanted texts."""
    return [each for each in rows if all(each.keys.get(key) in wanted[key] for key in wanted)]


def relative(rows: Sequence[Row], base: Side) -> list[Row]:
    """Divide the values by the value of the side `base` in the same setting."""
    divisors = dict(of_side(rows, base))
    return [
        Row(keys, shown.over(divisors[setting]))
        for keys, shown in rows
        if (setting := _setting(keys, base)) in divisors
    ]


def compared(
    rows: Sequence[Row], one: Side, two: Side | None, number: float, floor: Floor
) -> list[Compared]:
    """Pair the values of two sides whose other keys are equal, and raise them to the floor."""
    first = dict(of_side(rows, one))
    second = dict.fromkeys(first, _UNIT) if two is None else dict(of_side(rows, two))
    found = []
    for setting in (each for each in first if each in second):
        texts = [text for _, text in setting]
        least = _floor(floor, [*texts, *one.values()])
        raised, other, wanted = first[setting].raised(least), _UNIT, number
        if two is None:
            wanted = max(number, least)
        else:
            other = second[setting].raised(least)
        measured = first[setting].value
        found.append(Compared((one, two), dict(setting), raised, other, wanted, measured))
    return found


def _floor(floor: Floor, texts: Sequence[str]) -> float:
    if isinstance(floor, Mapping):
        return max((floor[text] for text in texts if text in floor), default=0.0)
    return floor


def _setting(keys: Mapping[str, str], side: Side) -> _Setting:
    return tuple((key, text) for key, text in keys.items() if key not in side)


def of_side(rows: Sequence[Row], side: Side) -> Iterator[tuple[_Setting, Shown]]:
    """Yield the values of a side, with the texts of their other keys."""
    for keys, shown in where(rows, {key: [text] for key, text in side.items()}):
        yield _setting(keys, side), shown
