"""The expected results, counted from the content of the input."""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import UTC
from typing import TYPE_CHECKING, Any

from tests.kills.inputs import ORIGIN, WINDOW_SECONDS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tests.kills.inputs import Message

__all__ = ["difference", "expected", "found"]

Row = tuple[Any, ...]


def expected(aggregator: str, messages: Iterable[Message]) -> Counter[Row]:
    """Aggregate messages by window and key, one by one.

    Parameters
    ----------
    aggregator
        Name of the aggregator, such as ``sum``.

    Returns
    -------
    Counter
        Each row of the result, with the count 1.
    """
    groups: defaultdict[tuple[int, str | None], list[int]] = defaultdict(list)
    for message in messages:
        groups[message.window, message.key].append(message.number)
    rows: Counter[Row] = Counter()
    for group, numbers in groups.items():
        rows.update((*group, *values) for values in _values(aggregator, numbers))
    return rows


def _values(aggregator: str, numbers: list[int]) -> list[Row]:
    if aggregator == "sum":
        return [(sum(numbers),)]
    if aggregator == "mean":
        return [(sum(numbers) / len(numbers),)]
    if aggregator == "tally":
        return list(Counter(numbers).items())
    if aggregator == "histogram":
        weights = sorted(Counter(numbers).items())
        return [(tuple(value for value, _ in weights), tuple(count for _, count in weights))]
    if aggregator == "count":
        return [(len(numbers),)]
    return [(len(numbers), 0)]


_COLUMNS = {
    "count": ("count",),
    "sum": ("sum",),
    "mean": ("mean",),
    "tally": ("value", "count"),
    "histogram": ("positions", "weights"),
    "top-k": ("count", "error"),
    "heavy-hitters": ("count", "error"),
}


def found(aggregator: str, rows: Iterable[Mapping[str, Any]], key: str = "key") -> Counter[Row]:
    """Convert the rows of a result to the form of `expected`; duplicates count twice."""
    counted: Counter[Row] = Counter()
    for row in rows:
        start = row["window_start"]
        # Spark's Parquet files have no zone, and mean UTC.
        aware = start.replace(tzinfo=UTC) if start.tzinfo is None else start
        window = (aware - ORIGIN).total_seconds() / WINDOW_SECONDS
        values = (row[name] for name in _COLUMNS[aggregator])
        plain = (tuple(value) if isinstance(value, list) else value for value in values)
        counted[window, row[key], *plain] += 1
    return counted


def difference(what: str, wanted: Counter[Row], got: Counter[Row]) -> list[str]:
    """Yield the differences between two collections of rows."""
    if wanted == got:
        return []
    missing, surplus = wanted - got, got - wanted
    shown = [f"missing {row!r}" for row in list(missing)[:3]]
    shown += [f"too many {row!r}" for row in list(surplus)[:3]]
    numbers = f"{missing.total()} rows missing, {surplus.total()} too many"
    return [f"{what}: {numbers} of {wanted.total()} ({'; '.join(shown)})"]
