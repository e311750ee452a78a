"""Aggregators written as plain loops over Python values."""

from __future__ import annotations

from collections import Counter, defaultdict
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable


def naive_values(
    messages: Iterable[dict[str, Any]], by: tuple[str, ...], column: str
) -> dict[tuple[Any, ...], list[Any]]:
    """Return the values of a column that are not null, for each group."""
    groups: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for message in messages:
        values = groups[tuple(message[name] for name in by)]
        if message[column] is not None:
            values.append(message[column])
    return dict(groups)


def naive_weights(messages: Iterable[tuple[str, int]]) -> Counter[str]:
    """Return the total weight of each key, given messages as (key, weight)."""
    weights: Counter[str] = Counter()
    for key, weight in messages:
        weights[key] += weight
    return weights
