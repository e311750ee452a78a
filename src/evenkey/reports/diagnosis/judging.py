"""Find the stages of an application, predict the effect of changes, and decide what to change."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from evenkey.reports.diagnosis.after_remedies import Work, together
from evenkey.reports.diagnosis.findings import Change, Finding
from evenkey.reports.diagnosis.remedies import remedies_for, why_none
from evenkey.reports.diagnosis.spark_plans import is_streaming, shape_of
from evenkey.reports.diagnosis.stage_runs import Run, runs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.diagnosis.findings import Verdict
    from evenkey.reports.diagnosis.spark_application import Application
    from evenkey.reports.diagnosis.thresholds import Thresholds

_LEAST_HELP = 1.05
"""Minimum speedup of a change that is offered; reports would print a smaller one as 1.0x."""


def find(application: Application, thresholds: Thresholds) -> list[Finding]:
    """Judge all stages with a keyed shuffle.

    The stages to change come first, the largest saving of time first. All runs of one plan, such as
    the epochs of a stream, become one finding.
    """
    folded: dict[object, list[Run]] = {}
    for run in runs_of(application):
        execution = run.execution
        # If the line of code is unknown, only runs with the same plan are taken for the same query.
        place = execution.query or execution.call_site or shape_of(execution.plan)
        folded.setdefault((place, run.read.signature), []).append(run)
    findings = [_finding(application, runs, thresholds) for runs in folded.values()]
    return sorted(findings, key=lambda each: (each.verdict != "change", -each.saved))


def _finding(application: Application, runs: Sequence[Run], thresholds: Thresholds) -> Finding:
    work = Work.of(runs, application.slots)
    read = work.worst.read
    stream = is_streaming(work.worst.execution.plan)
    fullness = {what: together(runs, what) for what in ("rows", "bytes", "seconds")}
    changes = []
    for remedy in remedies_for(read, application.slots, stream=stream):
        after = work.predicted(remedy)
        gain = work.seconds / after if after else 1.0
        changes.append(Change(remedy, after, gain, work.counting(remedy)))
    changes.sort(key=lambda each: -each.gain)
    finding = Finding(application, work, stream, fullness, tuple(changes))
    verdict, reason = _judged(finding, thresholds)
    if verdict == "change":
        changes = [each for each in changes if each.gain >= _LEAST_HELP]
    return replace(finding, verdict=verdict, reason=reason, changes=tuple(changes))


def _judged(finding: Finding, limits: Thresholds) -> tuple[Verdict, str]:
    """Return the verdict on a stage, and the reason in a sentence."""
    if finding.combined and finding.kind == "own aggregate":
        return "combined", "Spark combines before the shuffle: a hot key costs no more than another"
    if all(len(run.tasks) == 1 for run in finding.work.runs):
        return "one task", _why_one_task(finding)
    balanced = _balanced(finding, limits)
    if balanced:
        return "balanced", balanced
    if not finding.changes:
        return "none", why_none(finding.run.read, stream=finding.stream)
    small = _small(finding, limits)
    if small:
        return "small", small
    largest, gain = finding.fullness["rows"], finding.changes[0].gain
    hottest = 100 * finding.hottest_share
    return "change", (
        f"about {gain:.1f}x faster: the largest task has {largest:.1f} times "
        f"the mean of rows, and the hottest key about {hottest:.0f} % of all rows"
    )


def _balanced(finding: Finding, limits: Thresholds) -> str | None:
    """Return a sentence if rows are balanced; None if rows are not balanced."""
    largest, longest = finding.fullness["rows"], finding.fullness["seconds"]
    if largest >= limits.least_fullness:
        return None
    reason = f"rows are balanced: the largest task has {largest:.2f} times the mean"
    if longest >= limits.least_fullness:
        reason += f"; the slowest takes {longest:.2f} times the mean, but not because of its keys"
    return reason


def _why_one_task(finding: Finding) -> str:
    """Explain a stage that ran as one task, from which nothing can be said about its keys."""
    run, slots = finding.run, finding.application.slots
    partitions = run.read.exchanges[0].partitions
    used = f"1 of {slots:,} slots did all the work, and skew between keys cannot be seen"
    if "coalesced" not in finding.adaptive:
        return f"its shuffle has one partition: {used}; pass a larger number of partitions"
    kibibytes = math.ceil(sum(run.bytes) / 1024)
    return (
        f"adaptive execution merged its {partitions:,} partitions into one task, because they hold "
        f"only {kibibytes:,} KiB: {used}; if the work per row takes long, set "
        "spark.sql.adaptive.coalescePartitions.enabled=false, and diagnose the next run"
    )


def _small(finding: Finding, limits: Thresholds) -> str | None:
    """Return a sentence if there is too little to gain; None if there is enough to gain."""
    gain, least_gain = finding.changes[0].gain, max(limits.least_gain, _LEAST_HELP)
    if gain <= 1:
        return "a change would not make it faster: its time does not depend on the rows of its keys"
    if gain < least_gain:
        return f"a change would make it {gain:.2f}x faster: less than {least_gain:g}x"
    if finding.saved < limits.least_seconds:
        return f"a change would save {finding.saved:.2f} s: less than {limits.least_seconds:g} s"
    return None
