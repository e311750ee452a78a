"""Obvious and slow versions of what the joins compute."""

from __future__ import annotations


def keyed_join(stream, static, keys, how):
    """Join rows, which are dictionaries, by comparing every pair."""
    columns = [name for name in (static[0] if static else {}) if name not in keys]
    joined = []
    for left in stream:
        rights = [
            right
            for right in static
            if all(left[key] is not None and left[key] == right[key] for key in keys)
        ]
        joined += [{**left, **right} for right in rights]
        if how == "left" and not rights:
            joined.append({**left, **dict.fromkeys(columns)})
    return joined


def leaves_of_box(bounds, box):
    """Return the numbers of the half-open rectangles that a closed box intersects."""
    left, bottom, right, top = box
    return [
        number
        for number, (x0, y0, x1, y1) in enumerate(bounds)
        if left < x1 and right >= x0 and bottom < y1 and top >= y0
    ]
