"""Why a stage is slow: keys, or one of the causes that better placement of keys cannot cure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from evenkey.reports.diagnosis.after_remedies import together
from evenkey.reports.diagnosis.remedies import kind_of

if TYPE_CHECKING:
    from evenkey.reports.diagnosis.after_remedies import Work
    from evenkey.reports.diagnosis.stage_runs import Run
    from evenkey.reports.diagnosis.thresholds import Thresholds

Cause = Literal[
    "skewed keys",
    "null keys",
    "large file",
    "few tasks",
    "spill",
    "slow executor",
    "slow task",
    "none",
]
"""What makes a stage slow. Only the first two are a matter of keys."""

_NULL_HASH = 42
"""Spark's hash of null: the seed of its Murmur3 hash, which a null leaves as it is."""

_LEAST_PARTITIONS = 8
"""With fewer partitions, too many keys share the partition of null."""

SURELY_NULL = 100
"""With so many partitions, a hot key that is not null is hardly ever in the partition of null."""

_LEAST_SPILL = 0.1
"""A stage that spills less than this share of the bytes that it reads is not slow for it."""

_BY_ROWS = 1.05
"""The largest task must take this many times the mean by its rows, to be slow for its keys."""


def cause_of(work: Work, limits: Thresholds) -> Cause:
    """Return why a stage is slow."""
    worst = work.worst
    if len(worst.tasks) > 1 and _skewed(work, limits):
        if not worst.read.exchanges:
            return "large file"
        return "null keys" if has_null_keys(worst) else "skewed keys"
    return _cause_beside_keys(work, limits)


def _cause_beside_keys(work: Work, limits: Thresholds) -> Cause:
    if all(len(run.tasks) < work.slots for run in work.runs):
        return "few tasks"
    spilled = sum(run.spilled for run in work.runs)
    if spilled > _LEAST_SPILL * sum(sum(run.bytes) for run in work.runs):
        return "spill"
    if work.slow_place is not None:
        return "slow executor"
    if together(work.runs, "seconds") >= limits.least_fullness:
        return "slow task"
    return "none"


def _skewed(work: Work, limits: Thresholds) -> bool:
    """Return whether the largest task has too many rows, and its time follows from them."""
    if together(work.runs, "rows") < limits.least_fullness:
        return False
    rows = work.drivers(work.worst)
    return work.line.at(max(rows)) >= _BY_ROWS * work.line.at(sum(rows) / len(rows))


def has_null_keys(run: Run) -> bool:
    """Return whether the largest task of a run is that of null, where keys can be null.

    The rows of a null key are in partition ``42 mod P`` of P partitions. If adaptive execution
    changed the partitions, the numbers of tasks are not those of partitions.
    """
    first = run.read.exchanges[0]
    if first.adaptive or not _LEAST_PARTITIONS <= first.partitions == len(run.tasks):
        return False
    at_null = run.tasks[_largest(run)].index == _NULL_HASH % first.partitions
    return at_null and _can_be_null(run)


def may_have_null_keys(run: Run) -> bool:
    """Return whether the largest task of a join may be that of null, and the log cannot show it.

    This is so if adaptive execution changed the partitions, and the side with most of the task's
    rows keeps rows with a null key.
    """
    if kind_of(run.read) != "join" or not run.read.exchanges[0].adaptive:
        return False
    return _can_be_null(run)


def _largest(run: Run) -> int:
    """Return the place of the task with most rows."""
    return max(range(len(run.rows)), key=run.rows.__getitem__)


def _can_be_null(run: Run) -> bool:
    """Return whether the keys of the largest task can be null."""
    if kind_of(run.read) != "join":
        return run.read.exchanges[0].nullable
    if run.sides is None or len(run.sides) != len(run.read.exchanges):
        return run.read.join_type in _KEEPS_NULLS
    largest = _largest(run)
    share = [side[largest] / max(1, sum(side)) for side in run.sides]
    largest_share_at = share.index(max(share))
    kept = largest_share_at in _KEEPS_NULLS.get(run.read.join_type or "", ())
    return kept and run.read.exchanges[largest_share_at].nullable


_KEEPS_NULLS = {"LeftOuter": (0,), "LeftAnti": (0,), "RightOuter": (1,), "FullOuter": (0, 1)}
"""The sides of a join that keep rows with a null key, by its type; others filter them out."""
