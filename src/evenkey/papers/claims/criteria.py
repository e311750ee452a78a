"""Criteria: what a claim says about values, with a size and a tolerance, and whether it holds."""

from __future__ import annotations

import math
import statistics
import tomllib
from dataclasses import dataclass, field
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

from evenkey.papers.claims.comparisons import compared, relative, where
from evenkey.papers.claims.figures_in_words import named as worded
from evenkey.papers.claims.results_in_words import result
from evenkey.papers.claims.shown_values import Row, Shown

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkey.papers.claims.comparisons import Compared, Floor, Side
    from evenkey.papers.claims.shown_values import Measure, Tables

Kind: TypeAlias = Literal["direction", "size", "limit", "gap"]
Verdict: TypeAlias = Literal["holds", "does not hold", "not run", "not testable"]

_GENERALLY = 0.75


class Word(NamedTuple):
    """The definition of a word in claims.

    Parameters
    ----------
    papers
        The papers' words that it stands for.
    says, reason
        What a criterion with this word demands, and why.
    least, most
        Bounds on the ratio of two compared values.
    tolerance
        Factor by which a value may be off.
    """

    papers: str
    says: str
    reason: str
    least: float = 1.0
    most: float = float("inf")
    tolerance: float = 1.0


@cache
def words() -> Mapping[str, Word]:
    """Return the definitions of all words."""
    text = (resources.files(__package__) / "words.toml").read_text("utf-8")
    return {name: Word(**fields) for name, fields in tomllib.loads(text).items()}


class Judgement(NamedTuple):
    """A verdict on a criterion, and our result in words."""

    verdict: Verdict
    ours: str


@dataclass(frozen=True)
class Criterion:
    """What a claim says about one measure.

    Parameters
    ----------
    measure
        The values.
    kind
        ``direction``: the first side of each pair is more than the second. ``size``: the first
        side, or its ratio to the second, is a number, or the two are similar. ``limit``: the first
        side, or its ratio to the second, is not beyond a number, in any of several runs. ``gap``:
        the first side is not between two numbers.
    pairs
        Pairs of sides. The second side is None if the first is compared with a number.
    word
        The definition of the claim's word.
    says
        The criterion in words.
    numbers
        The paper's number for each pair, or its limit; 1 if it gives none.
    only
        Texts that other keys must have.
    per
        ``each``: every setting counts. ``generally``: three quarters of the settings must agree.
        ``most``, ``median``: the largest or median ratio of all settings counts.
    change
        Whether a number is the change of the first side against the second, such as -0.3.
    upper
        Whether a limit is an upper one.
    floor
        Values below it count as equal to it.
    minus
        Number that is first subtracted from values, and from the paper's numbers.
    relative_to
        If given, values are first divided by the value of this side in the same setting.
    gap
        The two numbers between which no value lies, in a ``gap``.
    """

    measure: Measure
    kind: Kind
    pairs: Sequence[tuple[Side, Side | None]]
    word: Word
    says: str
    numbers: Sequence[float]
    only: Mapping[str, Sequence[str]] = field(default_factory=dict)
    per: Literal["each", "generally", "most", "median"] = "each"
    change: bool = False
    upper: bool = True
    floor: Floor = 0.0
    minus: float = 0.0
    relative_to: Side | None = None
    gap: tuple[float, float] = (0.0, 0.0)

    def judge(self, tables: Tables) -> Judgement:
        """Judge the tables of an outcome."""
        return self.judge_rows(self.measure.rows(tables))

    def judge_rows(self, rows: Sequence[Row]) -> Judgement:
        """Judge values.

        If a setting that the criterion names has no values, the verdict is ``not run``, unless
        another setting already shows that the claim does not hold.
        """
        given = rows if self.relative_to is None else relative(rows, self.relative_to)
        chosen = [Row(keys, shown.minus(self.minus)) for keys, shown in where(given, self.only)]
        found = [
            compared(chosen, one, two, number - self.minus, self.floor)
            for (one, two), number in zip(self.pairs, self.numbers, strict=True)
        ]
        if not any(found):
            return Judgement("not run", "no stored result has this value")
        values = [each for part in found for each in part]
        if self.per in ("most", "median"):
            values = [self._chosen(values)]
        held = [self._holds(each) for each in values]
        share = sum(held) / len(held)
        ours = result(self, values, held)
        if share < (_GENERALLY if self.per == "generally" else 1):
            return Judgement("does not hold", ours)
        missing = self._missing(rows)
        if missing:
            return Judgement("not run", f"{ours}; not run at {', '.join(missing)}")
        return Judgement("holds", ours)

    def distance(self, each: Compared) -> float:
        """Return how far values are from the criterion, as a factor."""
        figure, wanted = each.ratio, each.number
        if self.kind == "gap":
            return min(_over(figure, self.gap[0]), _over(self.gap[1], figure))
        if self.kind == "limit":
            furthest = each.furthest(upper=self.upper)
            return _over(furthest, wanted) if self.upper else _over(wanted, furthest)
        if self.kind == "direction":
            return max(_over(self.word.least, figure), _over(figure, self.word.most))
        figure -= self.change
        if wanted < 0:
            figure, wanted = -figure, -wanted
        return max(_over(figure, wanted), _over(wanted, figure))

    def within(self, each: Compared) -> bool:
        """Return whether the medians of several runs are within the limit."""
        return self._within(each.ratio, each.number)

    def _missing(self, rows: Sequence[Row]) -> list[str]:
        """Return the texts of keys that the criterion names and no value has, by key."""
        named = [(key, text) for key, texts in self.only.items() for text in texts]
        named += [pair for sides in self.pairs for side in sides if side for pair in side.items()]
        known = {pair for row in rows for pair in row.keys.items()}
        missing: dict[str, list[str]] = {}
        for key, text in dict.fromkeys(named):
            if (key, text) not in known:
                missing.setdefault(key, []).append(text)
        return [worded(key, sorted(texts, key=_number)) for key, texts in missing.items()]

    def _chosen(self, values: Sequence[Compared]) -> Compared:
        """Return the median setting, or the one that is furthest in the direction of the number."""
        ratios = [each.ratio for each in values]
        if self.per == "median":
            wanted = statistics.median_low(ratios)
        else:
            falls = self.change and values[0].number < 0
            wanted = min(ratios) if falls else max(ratios)
        return values[ratios.index(wanted)]

    def _holds(self, each: Compared) -> bool:
        if self.kind == "direction":
            return self._above(each)
        if self.kind == "gap":
            return not self.gap[0] < each.ratio < self.gap[1]
        if self.kind == "limit":
            return self._within(each.furthest(upper=self.upper), each.number)
        figure, wanted = each.ratio - self.change, each.number
        if wanted < 0:
            figure, wanted = -figure, -wanted
        return wanted / self.word.tolerance <= figure <= wanted * self.word.tolerance

    def _within(self, figure: float, limit: float) -> bool:
        return figure <= limit if self.upper else figure >= limit

    def _above(self, each: Compared) -> bool:
        return each.one.above(each.two) and self.word.least <= each.ratio <= self.word.most


def _number(text: str) -> float:
    """Return the number of a setting; names are equal, and stay in the order of the criterion."""
    shown = Shown.read(text)
    return 0.0 if shown is None else shown.value


def _over(one: float, other: float) -> float:
    """Divide; of numbers that are not both positive, the quotient is as large as possible."""
    if math.isinf(other):
        return 0.0
    return one / other if one > 0 and other > 0 else math.inf
