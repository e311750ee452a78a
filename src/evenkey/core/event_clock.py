"""A clock that follows the event times of the majority of a stream's rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

FAR = 3600.0
"""A row is far from the clock if its time differs from the time of the clock by more than this
number of seconds. The value is an hour, because dynamic key grouping forgets a key that has not
occurred for an hour."""

_MOST_SUPPORT = 64
_PIECE = 256
"""Number of rows of a piece. If one row of a piece is far from the clock, the rows of the piece are
processed one by one."""


class EventClock:
    """The clock of one task: the latest event time of its rows, ignoring a minority of wrong times.

    The clock has a support, a count of at most 64. A row within `FAR` seconds of the clock adds 1
    to the support; if the row is later than the clock, the clock advances to the time of the row. A
    row further away, ahead or behind, subtracts 1 from the support; if the support is already 0,
    the clock jumps to the time of the row. So a clock with a support of 64 jumps only after 65 more
    far rows than near rows, and the next two rows correct a wrong first row. This is the majority
    vote of Boyer and Moore (1981). The limit of 64 lets the clock follow a change of the times.

    The clock depends only on the rows and their order, not on how the rows are cut into batches.
    The clock is wrong while most rows are wrong. A row that is up to `FAR` seconds ahead of the
    other rows advances the clock; then the clock stands still until the other rows reach its time.

    Parameters
    ----------
    start
        Time of the clock before the first row with a known event time, in seconds.

    Examples
    --------
    >>> EventClock().follow([4e9, 10.0, 11.0, 12.0, 5e9, 11.5, float("nan"), 13.0]).tolist()
    [4000000000.0, 4000000000.0, 11.0, 12.0, 12.0, 12.0, 12.0, 13.0]
    """

    def __init__(self, start: float = 0.0) -> None:
        self._start = start
        self._support = 0
        self.earliest = np.nan
        """Earliest time of the rows that support the clock; NaN before the first such row."""
        self.latest = np.nan
        """Time of the clock; NaN before the first known time."""

    def follow(self, times: ArrayLike) -> NDArray[np.float64]:
        """Return the time of the clock after each row.

        Parameters
        ----------
        times
            float64[n], event time of each row in seconds, roughly ascending; NaN or infinite if
            unknown.

        Returns
        -------
        float64[n]
            Non-decreasing, except where the clock jumps back.
        """
        rows = np.asarray(times, dtype=np.float64)
        known = np.isfinite(rows)
        if known.all():
            return self._follow_known(rows)
        stood = self._start if np.isnan(self.latest) else self.latest
        clock = np.concatenate(([stood], self._follow_known(rows[known])))
        return np.asarray(clock[np.cumsum(known)], dtype=np.float64)

    def _follow_known(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        if not len(rows):
            return rows
        if self._all_near(rows):
            return self._advance(rows)
        pieces = np.split(rows, range(_PIECE, len(rows), _PIECE))
        return np.concatenate(
            [self._advance(each) if self._all_near(each) else self._vote(each) for each in pieces]
        )

    def _all_near(self, rows: NDArray[np.float64]) -> bool:
        least, most = np.fmin(rows.min(), self.latest), np.fmax(rows.max(), self.latest)
        return bool(most - least <= FAR)

    def _advance(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        clock = np.fmax(np.maximum.accumulate(rows), self.latest)
        self.latest = clock[-1]
        self.earliest = np.fmin(self.earliest, rows.min())
        self._support = min(_MOST_SUPPORT, self._support + len(rows))
        return clock

    def _vote(self, rows: NDArray[np.float64]) -> NDArray[np.float64]:
        clock = np.empty(len(rows))
        earliest, latest, support = self.earliest, self.latest, self._support
        for i, time in enumerate(rows.tolist()):
            if abs(time - latest) <= FAR:
                earliest, latest = min(earliest, time), max(latest, time)
                support = min(_MOST_SUPPORT, support + 1)
            elif support:
                support -= 1
            else:
                earliest, latest, support = time, time, 1
            clock[i] = latest
        self.earliest, self.latest, self._support = earliest, latest, support
        return clock


def in_step(clocks: ArrayLike, within: float) -> NDArray[np.bool_]:
    """Return whether each of several clocks is at most `within` seconds from their median.

    If two clocks are in the middle, the median is the earlier of the two. So one of two clocks
    cannot move the median ahead of the other clock.

    Parameters
    ----------
    clocks
        float64[n], time of each clock in seconds, n at least 1.
    within
        Largest distance from the median in seconds, at least 0.

    Examples
    --------
    >>> in_step([100.0, 115.0, 4e9, 112.0], within=15.0).tolist()
    [True, True, False, True]
    """
    read = np.asarray(clocks, dtype=np.float64)
    median = np.sort(read)[(len(read) - 1) // 2]
    steady: NDArray[np.bool_] = np.abs(read - median) <= within
    return steady
