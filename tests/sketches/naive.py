"""SpaceSaving as the paper's pseudo-code has it, on a dictionary."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable


def naive_space_saving(
    capacity: int, messages: Iterable[tuple[int, float]]
) -> dict[int, tuple[float, float]]:
    """Key to (count, error) after messages of (key, weight)."""
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
