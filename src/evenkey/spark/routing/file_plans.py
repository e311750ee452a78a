"""Plans of writes: the tasks that write each value, so that a value has few files."""

from __future__ import annotations

import logging
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evenkey.core.metrics import max_over_mean
from evenkey.groupings import Plan, PlannedGrouping, heaviest_first
from evenkey.spark.keys.explanation import counted_in
from evenkey.spark.plans.costly_inputs import warn_of_costly
from evenkey.spark.plans.key_sample import KeySample, Sampled, sample_keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray
    from pyspark.sql import Column, DataFrame

    from evenkey.groupings import KeyStatistics

logger = logging.getLogger(__name__)

_FULL = 1.08
"""Maximum of the rows that a plan gives a task, as a multiple of the mean over all tasks. The rows
that a task really gets have an additional random deviation."""
_SAND = 0.08
"""A value is never divided if it has at most this fraction of the mean number of rows per task."""


class FilePlan(NamedTuple):
    """What `partition_for_write` does, and why; ``str`` returns it as one line for the log.

    Parameters
    ----------
    shown, files
        The values by which a batch is written, as text, and the number of tasks.
    plan
        The tasks of the values. None: there is one task.
    sample
        Loads of the values. None: there is one task, so nothing was counted.
    seconds
        Seconds that counting took.
    """

    shown: str
    files: int
    plan: Plan | None = None
    sample: KeySample | None = None
    seconds: float = 0.0

    @property
    def reason(self) -> str | None:
        """Why Spark's own placement is used; None: it is not."""
        if self.sample is None:
            return "there is one task"
        loads = self.sample.spark_loads[0]
        if loads.max() > _FULL * loads.mean():
            return None
        return f"no task has more than {max_over_mean(loads):.2f} times the mean"

    def __str__(self) -> str:
        made = counted_in(self.seconds, 0.0 if self.sample is None else self.sample.error)
        end = "" if self.sample is None else f"; {made}"
        if self.plan is None or self.reason is not None:
            return f"{self.shown}: Spark's own placement: {self.reason}{end}"
        balance = f"max/mean load {max_over_mean(self.plan.loads):.3f}"
        return f"{self.shown}: {self.files} tasks; files: {self.more}; {balance}{end}"

    @property
    def more(self) -> str:
        """How many files there are, as text."""
        extra = 0 if self.plan is None else self.plan.extra_pairs
        return "one for each value" + (f", and {extra:,} more" if extra else "")


def plan_files(
    df: DataFrame,
    hashed: Column,
    columns: Sequence[Column],
    shown: str,
    files: int,
    *,
    exact: bool,
    others: Sequence[int] = (),
) -> FilePlan:
    """Count the values of a batch in one job, and place them on tasks.

    Parameters
    ----------
    df
        The rows.
    hashed, columns
        Hash of a row's value, and the columns that form the value.
    shown, files
        As for `FilePlan`.
    exact
        Whether to count all rows.
    others
        Further numbers of tasks for which Spark's own placement is computed.
    """
    if files == 1:
        return FilePlan(shown, files)
    start = time.perf_counter()
    empty = PlannedGrouping().statistics(files)
    rows = Sampled(df, hashed, columns)
    sample = sample_keys([rows], (files, *others), empty, files, exact=exact)
    plan = place_values(sample.statistics, files)
    seconds = time.perf_counter() - start
    warn_of_costly(logger, shown, [df.select(*columns)], seconds, "persist it first")
    return FilePlan(shown, files, plan, sample, seconds)


def place_values(statistics: KeyStatistics, files: int) -> Plan:
    """Place values on tasks; very small values are placed together, by the bucket of their hash.

    Parameters
    ----------
    statistics
        Number of rows of the values.
    files
        Number of tasks.
    """
    mean, buckets = statistics.total / files, len(statistics.bucket_loads)
    values, rows, sand = statistics.items(statistics.total / buckets)
    order = np.argsort(values, kind="stable")
    values, rows = values[order], rows[order]
    parts = parts_of(rows, mean, files)
    sizes = np.concatenate((rows / parts, sand))
    counts = np.concatenate((parts, np.ones(buckets, np.int64)))
    tasks, loads = heaviest_first(sizes, files, counts)
    return Plan(
        owners=tasks[parts.sum() :],
        keys=values,
        starts=np.concatenate(([0], np.cumsum(parts))).astype(np.int64),
        places=tasks[: parts.sum()],
        shares=np.repeat(1 / parts, parts),
        loads=loads,
    )


def parts_of(rows: NDArray[np.float64], mean: float, files: int) -> NDArray[np.int64]:
    """Compute the number of equal parts of each value so that all parts fit into the tasks.

    Examples
    --------
    >>> parts_of(np.array([30.0, 30.0, 30.0, 2.0]), mean=46.0, files=2).tolist()
    [1, 1, 2, 1]
    """
    parts = np.maximum(np.ceil(rows / (_FULL * mean)), 1).astype(np.int64)
    large = np.flatnonzero(rows > _SAND * mean)
    while True:
        placed, loads = heaviest_first(rows[large] / parts[large], files, parts[large])
        ends = np.cumsum(parts[large])
        over = loads > _FULL * mean
        largest: dict[int, tuple[float, int]] = {}
        for value, end in zip(large.tolist(), ends.tolist(), strict=True):
            size = (rows[value] / parts[value], value)
            for task in placed[end - parts[value] : end].tolist() if parts[value] < files else ():
                if over[task] and size > largest.get(task, (0.0, 0)):
                    largest[task] = size
        if not largest:
            return parts
        for value in {value for _, value in largest.values()}:
            parts[value] += 1
