"""Lines of a chart that coincide."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Sequence

_NEAR = 0.01
"""Two points coincide if they are not further apart than this part of the axis."""
_COMMON = 0.5
"""Two lines coincide if they share more than this part of the points of the one with fewer."""


class Points(NamedTuple):
    """The points of a line.

    Parameters
    ----------
    x, y
        Places along the axes; of a logarithmic axis, logarithms.
    """

    x: Sequence[float]
    y: Sequence[float]


def coinciding(lines: Sequence[Points]) -> list[list[int]]:
    """Return the groups of lines that coincide, as positions in `lines`.

    All lines of a group coincide with each other. A line is in one group at most, the first.

    Examples
    --------
    >>> lines = [Points([8, 16], [1, 1]), Points([8, 16], [5, 10])]
    >>> coinciding([*lines, Points([8, 16], [1.01, 1.01])])
    [[0, 2]]
    """
    heights = [dict(zip(each.x, each.y, strict=True)) for each in lines]
    every = [height for each in heights for height in each.values()]
    near = _NEAR * (max(every, default=0) - min(every, default=0))
    groups: list[list[int]] = []
    for place, one in enumerate(heights):
        for group in groups:
            if all(_coincide(one, heights[each], near) for each in group):
                group.append(place)
                break
        else:
            groups.append([place])
    return [group for group in groups if len(group) > 1]


def _coincide(one: dict[float, float], other: dict[float, float], near: float) -> bool:
    common = sum(abs(height - other[x]) <= near for x, height in one.items() if x in other)
    return common > _COMMON * min(len(one), len(other))
