"""Why a stage is slow and what helps, in a sentence for each cause."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evenkey.reports.diagnosis.causes import SURELY_NULL
from evenkey.reports.diagnosis.findings import LEAST_HELP

if TYPE_CHECKING:
    from evenkey.reports.diagnosis.findings import Finding


def why_change(finding: Finding) -> str:
    """Return why a stage is slow, with its predicted speedup."""
    cause = _CAUSES[finding.cause](finding)
    suffices = "; Spark alone suffices" if finding.spark_suffices else ""
    if finding.cause == "spill":
        return cause + suffices
    gain = finding.sure_gain if finding.sure_gain >= LEAST_HELP else finding.gain
    return f"about {gain:.1f}x faster: {cause}{suffices}"


def why_few_tasks(finding: Finding) -> str:
    """Explain a stage with fewer tasks than slots."""
    run, slots = finding.run, finding.application.slots
    tasks = len(run.tasks)
    used = f"{tasks:,} of {slots:,} slots did all the work"
    if tasks == 1 and run.read.exchanges:
        used += ", and skew between keys cannot be seen"
    if not run.read.exchanges:
        return f"the files are read in {_tasks(tasks)}: {used}"
    partitions = run.read.exchanges[0].partitions
    if "coalesced" not in finding.adaptive:
        return f"its shuffle has {partitions:,} partition{'s' * (partitions > 1)}: {used}"
    kibibytes = math.ceil(sum(run.bytes) / 1024)
    return (
        f"adaptive execution merged its {partitions:,} partitions into {_tasks(tasks)}, because "
        f"they hold only {kibibytes:,} KiB: {used}"
    )


def _tasks(count: int) -> str:
    return "one task" if count == 1 else f"{count:,} tasks"


def _of_keys(finding: Finding) -> str:
    largest = f"the largest task has {finding.fullness['rows']:.1f} times the mean of rows"
    if not finding.hottest_share:
        few = _tasks(len(finding.run.tasks))
        return f"{largest}; the log of {few} does not show how hot a key is"
    return f"{largest}, and the hottest key about {100 * finding.hottest_share:.0f} % of all rows"


def _of_nulls(finding: Finding) -> str:
    tasks = len(finding.run.tasks)
    chance = f" (or of a hot key: one key in {tasks} is in this task)"
    return (
        f"the largest task has {finding.fullness['rows']:.1f} times the mean of rows, and it is "
        f"the task of null keys{chance if tasks < SURELY_NULL else ''}"
    )


def _of_files(finding: Finding) -> str:
    return (
        f"one task reads {finding.fullness['rows']:.1f} times the mean of rows from files that "
        "Spark cannot split further"
    )


def _of_spilling(finding: Finding) -> str:
    spilled = sum(each.spilled for each in finding.work.runs) / (1 << 20)
    return (
        f"its tasks wrote {spilled:,.0f} MiB to disk, because their rows do not fit into memory; "
        "a log does not show what this cost"
    )


def _of_place(finding: Finding) -> str:
    slow = finding.work.slow_place
    if slow is None:
        return "an executor is slow"
    return f"tasks on {slow.name} are {slow.factor:.1f}x slower per row than elsewhere"


_CAUSES = {
    "skewed keys": _of_keys,
    "null keys": _of_nulls,
    "large file": _of_files,
    "few tasks": why_few_tasks,
    "spill": _of_spilling,
    "slow executor": _of_place,
}
