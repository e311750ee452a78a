"""What a profile knows of an operation, and how recordings of several days are combined.

Counts fade exponentially: after `HALF_LIFE_DAYS` days, a recording counts half as much as a new
one. So the share of a key is a mean over all recordings, in which recent rows count most.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Self

HALF_LIFE_DAYS = 7.0
"""After this number of days, a recording counts half as much as a new one."""

MOST_KEYS = 200
"""Maximum number of hot keys that are kept for one input of an operation."""

LEAST_SHARE = 0.002
"""Minimum share of a hot key in the rows of its input."""

MARK = "evenkey-"
"""Beginning of the names under which Spark counts keys: ``evenkey-FINGERPRINT-INPUT-NUMBER``."""

_SECONDS_A_DAY = 86_400


@dataclass(frozen=True)
class HotKey:
    """A key with many rows.

    Parameters
    ----------
    hashed
        Hash of the key, as a number from 0 to 2^64 - 1, which is the hash that plans use.
    rows
        Number of rows, estimated from a sample.
    text
        The key as text. None: only its hash was recorded.
    """

    hashed: int
    rows: float
    text: str | None = None


@dataclass(frozen=True)
class SampledRows:
    """The rows of one input of an operation; a join has two inputs.

    Parameters
    ----------
    rows
        Number of rows.
    keys
        The hot keys, in descending order of their rows.
    """

    rows: float
    keys: tuple[HotKey, ...]

    def share(self, key: HotKey) -> float:
        """Return the share of a key in all rows.

        Examples
        --------
        >>> rows = SampledRows(10, (HotKey(7, 8),))
        >>> rows.share(rows.keys[0])
        0.8
        """
        return key.rows / self.rows if self.rows else 0.0

    def faded(self, factor: float) -> SampledRows:
        """Return the same rows, each of which counts `factor` times."""
        keys = tuple(replace(each, rows=each.rows * factor) for each in self.keys)
        return SampledRows(self.rows * factor, keys)

    @classmethod
    def of(cls, rows: float, keys: list[HotKey]) -> Self:
        """Return rows with the hottest of the given keys, each of which has enough rows."""
        least = LEAST_SHARE * rows
        hot = sorted((each for each in keys if each.rows >= least), key=lambda key: -key.rows)
        return cls(rows, tuple(hot[:MOST_KEYS]))

    def merged(self, other: SampledRows) -> SampledRows:
        """Return the rows of both.

        Examples
        --------
        >>> one = SampledRows(10, (HotKey(7, 8),))
        >>> one.merged(SampledRows(10, (HotKey(7, 2), HotKey(9, 6))))
        SampledRows(rows=20, keys=(HotKey(hashed=7, rows=10, text=None), \
HotKey(hashed=9, rows=6, text=None)))
        """
        keys: dict[int, HotKey] = {}
        for each in (*self.keys, *other.keys):
            known = keys.get(each.hashed)
            if known is None:
                keys[each.hashed] = each
            else:
                text = each.text if known.text is None else known.text
                keys[each.hashed] = HotKey(each.hashed, known.rows + each.rows, text)
        return self.of(self.rows + other.rows, list(keys.values()))


@dataclass(frozen=True)
class TaskFigures:
    """The tasks of the newest known run of an operation, from an event log.

    Parameters
    ----------
    application
        Spark's id of the application.
    at
        When the last of the tasks ended, in seconds since 1970.
    rows, seconds
        Number of rows that each task read by key, and the duration of each task.
    """

    application: str
    at: float
    rows: tuple[int, ...]
    seconds: tuple[float, ...]


@dataclass(frozen=True)
class Operation:
    """A call that shuffles by key, as all recordings together describe it.

    Parameters
    ----------
    operator
        What was called, such as ``applyInPandas``.
    keys
        Expressions of the key, one text for each input.
    reads
        The tables and files that the inputs are computed from.
    at
        Time of the newest recording, in seconds since 1970.
    runs
        Number of recorded runs; those of earlier days count less.
    inputs
        The rows of each input. Empty: no run was sampled.
    tasks
        Tasks of the newest run in an event log. None: no log was added.
    """

    operator: str
    keys: tuple[str, ...]
    reads: tuple[str, ...]
    at: float
    runs: float = 1.0
    inputs: tuple[SampledRows, ...] = ()
    tasks: TaskFigures | None = None

    def faded(self, at: float) -> Operation:
        """Return the operation as it counts at a time that is not before `self.at`."""
        days = max(0.0, at - self.at) / _SECONDS_A_DAY
        factor = 0.5 ** (days / HALF_LIFE_DAYS)
        inputs = tuple(each.faded(factor) for each in self.inputs)
        return replace(self, at=max(at, self.at), runs=self.runs * factor, inputs=inputs)

    def merged(self, other: Operation) -> Operation:
        """Return what both recordings say together, at the time of the newer one.

        Examples
        --------
        >>> week = 7 * 86_400
        >>> old = Operation("join", ("k",), (), 0, 1, (SampledRows(100, (HotKey(7, 80),)),))
        >>> new = Operation("join", ("k",), (), week, 1, (SampledRows(50, (HotKey(7, 10),)),))
        >>> both = old.merged(new)
        >>> both.runs, both.inputs[0].share(both.inputs[0].keys[0])
        (1.5, 0.5)
        """
        at = max(self.at, other.at)
        newer = max(self, other, key=lambda each: each.at)
        one, two = self.faded(at), other.faded(at)
        pairs = itertools.zip_longest(one.inputs, two.inputs, fillvalue=SampledRows(0.0, ()))
        inputs = tuple(first.merged(second) for first, second in pairs)
        tasks = [each.tasks for each in (self, other) if each.tasks is not None]
        latest = max(tasks, key=lambda each: each.at, default=None)
        return replace(newer, at=at, runs=one.runs + two.runs, inputs=inputs, tasks=latest)
