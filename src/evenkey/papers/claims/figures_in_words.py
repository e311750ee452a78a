"""Numbers, settings and lists in words, for criteria and for our results."""

from __future__ import annotations

import itertools
import math
import re
from typing import TYPE_CHECKING, TypeAlias, TypeVar

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Texts: TypeAlias = Mapping[str, str | Sequence[str]]

__all__ = [
    "common",
    "factor",
    "named",
    "number",
    "percent",
    "ranged",
    "settings",
    "sided",
    "without",
]

TextT = TypeVar("TextT")

_MILLION = 1_000_000
_THOUSAND = 1000
_TWO = 2
_FEW = 5
_UNIT = re.compile(r"(.+), (%|ms|s)")
_NAMES = {
    "Choices, d": "d",
    "Probing, every s": "Probing interval",
    "Skew, nominal s": "s",
}
_OVER = " / "


def number(value: float, digits: int = 4) -> str:
    """Write a number with some digits; large ones without an exponent.

    Examples
    --------
    >>> [number(each) for each in (10_000_000, 3268905, 13.1623, 8e-10, 0)]
    ['10,000,000', '3,269,000', '13.16', '8e-10', '0']
    """
    if math.isinf(value):
        return "∞"
    text = f"{value:.{digits}g}"
    if abs(value) >= _THOUSAND:
        return f"{float(text):,.0f}"
    return re.sub(r"e-0+", "e-", text)


def factor(ratio: float) -> str:
    """Write a ratio.

    Examples
    --------
    >>> [factor(each) for each in (0.7951, 1177.4, 6_190_000, float("inf"))]
    ['0.795x', '1,180x', '6.19 million x', '∞']
    """
    if math.isinf(ratio):
        return "∞"
    if ratio >= _MILLION:
        return f"{number(ratio / _MILLION, 3)} million x"
    return f"{number(ratio, 3)}x"


def percent(change: float) -> str:
    r"""Write a change.

    Examples
    --------
    >>> percent(1.75), percent(-0.448) == "\N{MINUS SIGN}44.8 %"
    ('+175 %', True)
    """
    return f"{100 * change:+.3g} %".replace("-", "\N{MINUS SIGN}")


def ranged(texts: Sequence[str]) -> str:
    """Write the ends of a sorted list of figures and their number.

    Examples
    --------
    >>> ranged(["1x", "1.2x", "2x"]), ranged(["10", "10", "10"]), ranged(["10", "10"])
    ('1x to 2x in 3 settings', '10 in all 3 settings', '10 in both settings')
    """
    if len(texts) == 1:
        return texts[0]
    if len(set(texts)) == 1:
        every = "both" if len(texts) == _TWO else f"all {len(texts)}"
        return f"{texts[0]} in {every} settings"
    return f"{texts[0]} to {texts[-1]} in {len(texts)} settings"


def named(key: str, texts: Sequence[str], *, always: bool = False) -> str:
    """Write the texts of a key; names stand alone, numbers say what they are of.

    Parameters
    ----------
    key, texts
        A key such as ``Skewness ratio, %``, and some of its texts.
    always
        Whether the key stands before names, too.

    Examples
    --------
    >>> named("Skewness ratio, %", ["30", "60"]), named("Method", ["KG", "PKG"])
    ('Skewness ratio = 30, 60 %', 'KG, PKG')
    >>> named("W", ["5 workers", "10 workers"]), named("z", ["1", "2", "3", "4", "5", "6"])
    ('5, 10 workers', 'z = 1, 2, ... 6')
    """
    name, unit = key, ""
    if found := _UNIT.fullmatch(key.replace(", every s", ", s")):
        name, unit = found[1], f" {found[2]}"
    name = _NAMES.get(key, name)
    bare = [text.removesuffix(", %") for text in texts]
    if all(text.endswith(" workers") for text in bare):
        return f"{_listed([text.removesuffix(' workers') for text in bare])} workers"
    if not bare[0][:1].isdigit():
        first, equals, _ = bare[0].partition(" = ")
        start = first + equals
        if equals and all(text.startswith(start) for text in bare):
            return start + _listed([text.removeprefix(start) for text in bare])
        return f"{name} = {', '.join(bare)}" if always else ", ".join(bare)
    return f"{name} = {_listed(bare)}{unit}"


def settings(texts: Texts, joined: str = " at ") -> str:
    """Write what selects values: names first, then numbers.

    Examples
    --------
    >>> settings({"W": ["5", "10"], "Method": "KG"})
    'KG at W = 5, 10'
    """
    parts = [([text] if isinstance(text, str) else text, key) for key, text in texts.items()]
    parts.sort(key=lambda part: part[0][0][:1].isdigit())
    return joined.join(named(key, each) for each, key in parts)


def sided(
    one: Texts,
    two: Texts | None,
    between: str = " against ",
) -> str:
    """Write two sides of a comparison; what both have stands once.

    Examples
    --------
    >>> sided({"Method": "SG", "T": "10 s"}, {"Method": "PKG", "T": "10 s"})
    'SG against PKG at T = 10 s'
    >>> sided({"W": "20"}, {"W": "10"}), sided({"W": "20"}, {"W": "10"}, " / ")
    ('W = 20 against 10', 'W = 20 / W = 10')
    """
    if two is None:
        return settings(one)
    both = common([(one, two)])
    left, right = (settings(without(side, both)) for side in (one, two))
    if len(one) == len(two) == len(both) + 1 and between != _OVER:
        name = left.partition(" = ")[0]
        right = right.removeprefix(f"{name} = ")
    if between == _OVER and "/" in left:
        between = " divided by "
    return f"{left}{between}{right}" + (f" at {settings(both)}" if both else "")


def common(
    pairs: Sequence[tuple[Mapping[str, TextT], Mapping[str, TextT] | None]],
) -> dict[str, TextT]:
    """Return the texts that all sides of all pairs have; a pair may lack its second side.

    Examples
    --------
    >>> common([({"Method": "SG", "W": "5"}, {"Method": "KG", "W": "5"}), ({"W": "5"}, None)])
    {'W': '5'}
    """
    sides = [side for pair in pairs for side in pair if side is not None]
    return {
        key: text for key, text in sides[0].items() if all(side.get(key) == text for side in sides)
    }


def without(texts: Mapping[str, TextT], some: Mapping[str, object]) -> dict[str, TextT]:
    """Return the texts that are not among some others."""
    return {key: text for key, text in texts.items() if some.get(key) != text}


def _listed(texts: Sequence[str]) -> str:
    """Join texts; of many numbers at equal distances only the first two and the last."""
    if len(texts) > _FEW:
        try:
            numbers = [float(text.replace(",", "")) for text in texts]
        except ValueError:
            return ", ".join(texts)
        steps = {round(b - a, 9) for a, b in itertools.pairwise(numbers)}
        if len(steps) == 1:
            return f"{texts[0]}, {texts[1]}, ... {texts[-1]}"
    return ", ".join(texts)
