"""Read the values that the tables of an experiment show."""

from __future__ import annotations

import re
import statistics
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

Tables: TypeAlias = "Sequence[Mapping[str, Any]]"
"""Tables of an outcome as JSON: dictionaries with a title, columns and rows of cells, all text."""

_NUMBER = r"[-+]?[\d,]+(?:\.\d+)?(?:e[-+]?\d+)?"
_CELL = re.compile(rf"({_NUMBER})(?: \(({_NUMBER}(?:(?: to |; ){_NUMBER})*)\))?")
_BETWEEN = re.compile(" to |; ")


class Shown(NamedTuple):
    """A value in a table: a figure, or the median of several runs with their range.

    Parameters
    ----------
    value, least, most
        The value and its range.
    runs
        The values of all runs, if each run has a stream of its own, which other settings share;
        otherwise empty.
    """

    value: float
    least: float
    most: float
    runs: tuple[float, ...] = ()

    @classmethod
    def one(cls, value: float) -> Shown:
        """Return a value without a range."""
        return cls(value, value, value)

    @classmethod
    def read(cls, cell: str) -> Shown | None:
        """Read a cell; None if it has no number.

        Examples
        --------
        >>> Shown.read("7,976 (6,955 to 8,514)")
        Shown(value=7976.0, least=6955.0, most=8514.0, runs=())
        >>> Shown.read("7.5 (7.5; 6.9; 8.1)")
        Shown(value=7.5, least=6.9, most=8.1, runs=(7.5, 6.9, 8.1))
        >>> Shown.read("not given")
        """
        found = _CELL.fullmatch(cell)
        if found is None:
            return None
        value = _float(found[1])
        if not found[2]:
            return cls.one(value)
        others = tuple(map(_float, _BETWEEN.split(found[2])))
        return cls(value, min(others), max(others), others if "; " in found[2] else ())

    def paired(self, other: Shown) -> list[tuple[float, float]]:
        """Return the values of the two in each run; empty unless both have the same runs.

        A value without a range has as many equal runs as the other one.
        """
        count = max(len(self.runs), len(other.runs))
        ones, twos = self._in_runs(count), other._in_runs(count)
        return [*zip(ones, twos, strict=True)] if len(ones) == len(twos) else []

    def over(self, other: Shown) -> Shown:
        """Divide by another value.

        Runs are divided one by one, and the value is the median of their quotients. Without runs
        the range has all quotients of the two ranges.
        """
        quotients = tuple(ratio(one, two) for one, two in self.paired(other))
        if quotients:
            return Shown(statistics.median(quotients), min(quotients), max(quotients), quotients)
        ends = zip(self[:3], (other.value, other.most, other.least), strict=True)
        value, least, most = (ratio(one, two) for one, two in ends)
        return Shown(value, least, most)

    def above(self, other: Shown) -> bool:
        """Return whether the value is more in every run; without runs, of any two runs."""
        pairs = self.paired(other) or [(self.least, other.most)]
        return self.value > other.value and all(one > two for one, two in pairs)

    def minus(self, number: float) -> Shown:
        """Subtract a number from the value and its runs."""
        return self._each(lambda each: each - number)

    def raised(self, floor: float) -> Shown:
        """Raise the value and its runs to at least `floor`."""
        return self._each(lambda each: max(floor, each))

    def _in_runs(self, count: int) -> tuple[float, ...]:
        return self.runs or (self.value,) * (count if self.least == self.most else 0)

    def _each(self, change: Callable[[float], float]) -> Shown:
        value, least, most = map(change, self[:3])
        return Shown(value, least, most, tuple(map(change, self.runs)))


class Row(NamedTuple):
    """A value and its setting: the texts of its keys, such as the method and the skewness."""

    keys: Mapping[str, str]
    shown: Shown


@dataclass(frozen=True)
class Measure:
    """Values of an experiment that a criterion can compare.

    Parameters
    ----------
    name
        Name in the register.
    experiment
        Id of the experiment.
    words
        What the values are, in words.
    keys
        Titles of the columns that identify a row, such as ``Method``.
    columns
        Titles of the columns that have the values, and the text of the key `across` for each.
    table
        Title of the table, or its beginning. If it is empty, the first table.
    across
        Name of the key that the titles of `columns` stand for; empty for a single column.
    """

    name: str
    experiment: str
    words: str
    keys: Sequence[str]
    columns: Mapping[str, str]
    table: str = ""
    across: str = ""

    def rows(self, tables: Tables) -> list[Row]:
        """Return the values in the tables of an outcome; empty if the tables do not have them."""
        for table in tables:
            if table["title"].startswith(self.table):
                return list(self._rows(table["columns"], table["cells"]))
        return []

    def _rows(self, titles: Sequence[str], cells: Sequence[Sequence[str]]) -> Iterator[Row]:
        if not set(self.keys) <= set(titles):
            return
        for row in cells:
            at = dict(zip(reversed(titles), reversed(row), strict=True))
            keys = {key: at[key] for key in self.keys}
            for title, text in self.columns.items():
                shown = Shown.read(at.get(title, ""))
                if shown is not None:
                    yield Row({**keys, self.across: text} if self.across else keys, shown)


def _float(text: str) -> float:
    return float(text.replace(",", ""))


def ratio(one: float, other: float) -> float:
    """Divide; a positive number by zero is infinite, and zero by zero is 1.

    Examples
    --------
    >>> ratio(3, 2), ratio(1, 0), ratio(0, 0)
    (1.5, inf, 1.0)
    """
    if other:
        return one / other
    return float("inf") if one else 1.0
