"""Read the values that the tables of an experiment show."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Tables: TypeAlias = "Sequence[Mapping[str, Any]]"
"""Tables of an outcome as JSON: dictionaries with a title, columns and rows of cells, all text."""

_NUMBER = r"[-+]?[\d,]+(?:\.\d+)?(?:e[-+]?\d+)?"
_CELL = re.compile(rf"({_NUMBER})(?: \(({_NUMBER}) to ({_NUMBER})\))?")


class Shown(NamedTuple):
    """A value in a table: a figure, or the median of several runs with their range."""

    value: float
    least: float
    most: float

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
        Shown(value=7976.0, least=6955.0, most=8514.0)
        >>> Shown.read("not given")
        """
        found = _CELL.fullmatch(cell)
        if found is None:
            return None
        numbers = [float(each.replace(",", "")) for each in found.groups() if each]
        return cls(*numbers) if len(numbers) > 1 else cls.one(numbers[0])

    def over(self, other: Shown) -> Shown:
        """Divide by another value; the range has all quotients of the two ranges."""
        ends = zip(self, (other.value, other.most, other.least), strict=True)
        return Shown(*(ratio(one, two) for one, two in ends))

    def minus(self, number: float) -> Shown:
        """Subtract a number from the value and its range."""
        return Shown(*(each - number for each in self))

    def raised(self, floor: float) -> Shown:
        """Raise the value and its range to at least `floor`."""
        return Shown(*(max(floor, each) for each in self))


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
