"""A few points of a long time series, at about equal distances."""

from __future__ import annotations

from typing import NamedTuple

import pyarrow as pa

from evenkey.core.errors import ConfigurationError

_SCHEMA = pa.schema(
    [
        ("messages", pa.int64()),
        ("seconds", pa.float64()),
        ("imbalance", pa.float64()),
        ("local_imbalance", pa.float64()),
    ]
)


class Point(NamedTuple):
    """The imbalance at one time.

    Parameters
    ----------
    messages
        Number of messages so far.
    seconds
        Event time of the last of these messages, in seconds.
    imbalance
        I(t), the maximum load less the mean load.
    local_imbalance
        Sum, over all sources, of the imbalance of the loads that the source sent. The sum is never
        less than I(t) (PKG paper, section 3.2).
    """

    messages: int
    seconds: float
    imbalance: float
    local_imbalance: float


class Series:
    """Collects points; if the stream's length is unknown, drops every second point when full.

    Parameters
    ----------
    samples
        Number of points, at least 1; there are never more points than messages.
    expected
        Number of messages of the whole stream, m. Point k is taken after ``k * m / samples``
        messages, rounded down. None: m is unknown. Then the series has at least half of the points.
        Points have equal distances from the start on, except for the last point, which is at the
        end of the stream.

    Raises
    ------
    ConfigurationError
        `samples` is below 1.

    Examples
    --------
    >>> series = Series(samples=3, expected=None)
    >>> for t in range(1, 9):
    ...     if t == series.due:
    ...         series.take(Point(t, 0.0, 0.0, 0.0))
    >>> series.table(Point(8, 0.0, 0.0, 0.0))["messages"].to_pylist()
    [4, 8]
    """

    def __init__(self, samples: int, expected: int | None) -> None:
        if samples < 1:
            message = f"samples = {samples}: must be at least 1 point"
            raise ConfigurationError(message)
        self._endless = expected is None
        self._samples = samples if expected is None else max(1, min(samples, expected))
        self._span = self._samples if expected is None else expected
        self._points: list[Point] = []

    @property
    def due(self) -> int:
        """Number of messages after which the next point is taken."""
        return (len(self._points) + 1) * self._span // self._samples

    def take(self, point: Point) -> None:
        """Add the point that is due."""
        self._points.append(point)
        if self._endless and len(self._points) == self._samples:
            self._points = self._points[1::2]
            self._span *= 2

    def table(self, last: Point) -> pa.Table:
        """Return the points as a table, one column per field; append `last` if it is missing."""
        points = self._points
        if last.messages > (points[-1].messages if points else 0):
            points = [*points, last]
        return pa.Table.from_pylist([point._asdict() for point in points], schema=_SCHEMA)
