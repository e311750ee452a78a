"""Sketches written after the papers' pseudo-code, with dictionaries and lists."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def naive_space_saving(
    capacity: int, messages: Iterable[tuple[int, float]]
) -> dict[int, tuple[float, float]]:
    """Return {key: (count, error)} after messages of (key, weight)."""
    held: dict[int, tuple[float, float]] = {}
    for key, weight in messages:
        if weight == 0:
            continue
        if key in held:
            count, error = held[key]
            held[key] = (count + weight, error)
        elif len(held) < capacity:
            held[key] = (weight, 0.0)
        else:
            lightest = min(held, key=lambda other: (held[other][0], other))
            floor, _ = held.pop(lightest)
            held[key] = (floor + weight, floor)
    return held


Bin = tuple[float, float, float, float]
"""Position, weight, lowest and highest value."""


def naive_histogram(capacity: int, parts: Iterable[list[Bin]]) -> list[Bin]:
    """Insert lists of bins in turn; after each, join the closest bins until they fit."""
    bins: list[Bin] = []
    for part in parts:
        bins = sorted(bins + part)
        while True:
            gaps = [right[0] - left[0] for left, right in pairwise(bins)]
            if len(bins) <= capacity and 0 not in gaps:
                break
            place = gaps.index(min(gaps))
            (p, m, low, high), (q, n, other_low, other_high) = bins[place : place + 2]
            mean = min(p + (q - p) * (n / (m + n)), q)
            bins[place : place + 2] = [(mean, m + n, min(low, other_low), max(high, other_high))]
    return bins


def naive_sum(bins: list[Bin], point: float) -> float:
    """Compute Algorithm 3 of the paper, except that a bin with a single value is a step."""
    ends = [(min(low for _, _, low, _ in bins), 0.0), (max(high for _, _, _, high in bins), 0.0)]
    curved = [(p, m if low < high else 0.0) for p, m, low, high in bins]
    total = sum(m for p, m, low, high in bins if low == high and p <= point)
    for (p, m), (q, n) in pairwise([ends[0], *curved, ends[1]]):
        if q <= point:
            total += (m + n) / 2
        elif p <= point:
            part = (point - p) / (q - p)
            total += (m + m + (n - m) * part) / 2 * part
    least = sum(m for _, m, _, high in bins if high <= point)
    return min(max(total, least), sum(m for _, m, low, _ in bins if low <= point))
