"""Find the stages of an application, predict the effect of changes, and decide what to change."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkey.reports.diagnosis.after_remedies import Work, together
from evenkey.reports.diagnosis.causes import cause_of
from evenkey.reports.diagnosis.findings import LEAST_HELP, Change, Finding
from evenkey.reports.diagnosis.reading.spark_plans import is_streaming, shape_of
from evenkey.reports.diagnosis.reasons import why_change, why_few_tasks
from evenkey.reports.diagnosis.remedies import kind_of, remedies_for, why_none
from evenkey.reports.diagnosis.spark_answers import answers_of_spark, note_of, notes_of_spark
from evenkey.reports.diagnosis.stage_runs import Run, runs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.diagnosis.causes import Cause
    from evenkey.reports.diagnosis.findings import Verdict
    from evenkey.reports.diagnosis.reading.spark_application import Application, Task
    from evenkey.reports.diagnosis.reading.spark_plans import KeyedRead
    from evenkey.reports.diagnosis.remedies import Confidence, Remedy
    from evenkey.reports.diagnosis.thresholds import Thresholds


_WELL, _PARTLY = 0.8, 0.4
"""Shares of the variance of tasks' times that their rows explain well, and partly."""

_FEW_TASKS = 3
"""Times of fewer tasks than this always fit a line."""

_ORDER: tuple[Confidence, ...] = ("low", "medium", "high")


def find(application: Application, thresholds: Thresholds) -> list[Finding]:
    """Judge all stages with a keyed shuffle, and the scans that are slow for a known cause.

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
    # Of the scans that are fast, or too short to gain from a change, there is nothing to say.
    listed = [each for each in findings if each.keys or each.verdict not in ("balanced", "small")]
    return sorted(listed, key=lambda each: (_RANKS.get(each.verdict, 2), -each.saved))


_RANKS = {"change": 0, "unsure": 1}


def without_unused(
    application: Application, findings: Sequence[Finding]
) -> tuple[Application, list[Finding]]:
    """Return an application and its findings without what nothing needs after they were judged.

    A large application has millions of tasks. Kept are the tasks of the stages in findings, without
    their counts by accumulator, and the root of each plan.
    """
    runs = [run for each in findings for run in each.work.runs]
    numbers = {run.stage for run in runs}
    stages = [stage for stage in application.stages if stage.number in numbers]
    none: dict[int, int] = {}
    light = {id(task): replace(task, counted=none) for each in stages for task in each.tasks}
    executions = {
        each.number: replace(each, plan=replace(each.plan, children=()))
        for each in {run.execution.number: run.execution for run in runs}.values()
    }

    def lightened(tasks: Sequence[Task]) -> tuple[Task, ...]:
        return tuple(light[id(task)] for task in tasks)

    kept = replace(
        application,
        executions=executions,
        stages=tuple(replace(each, tasks=lightened(each.tasks)) for each in stages),
    )
    works = (
        replace(
            each.work,
            runs=[
                replace(run, tasks=lightened(run.tasks), execution=executions[run.execution.number])
                for run in each.work.runs
            ],
        )
        for each in findings
    )
    return kept, [
        replace(each, application=kept, work=work)
        for each, work in zip(findings, works, strict=True)
    ]


def _finding(application: Application, runs: Sequence[Run], thresholds: Thresholds) -> Finding:
    work = Work.of(runs, application.slots)
    stream = is_streaming(work.worst.execution.plan)
    read = work.worst.read
    cause: Cause = "none" if _is_combined(read) else cause_of(work, thresholds)
    version, slots = application.version, application.slots
    remedies = answers_of_spark(work.worst, cause, version, slots, stream=stream)
    if cause in ("skewed keys", "null keys"):
        remedies += remedies_for(read, slots, stream=stream)
    changes = [_change(work, each) for each in remedies]
    changes.sort(key=_rank)
    fullness = {what: together(runs, what) for what in ("rows", "bytes", "seconds")}
    finding = Finding(application, work, stream, fullness, tuple(changes), cause)
    verdict, reason = _judged(finding, thresholds)
    helpful = tuple(each for each in changes if each.gain >= LEAST_HELP)
    notes = notes_of_spark(work.worst, version) if verdict == "change" else []
    if verdict == "unsure" and not helpful:
        notes += [note_of(each) for each in remedies]
    return replace(finding, verdict=verdict, reason=reason, changes=helpful, notes=tuple(notes))


def _rank(change: Change) -> tuple[bool, bool, float]:
    """Return what is least for the change to name first: what is sure, then Spark's own answer."""
    remedy = change.remedy
    return remedy.certainty == "low", remedy.by != "spark", -change.gain


def _is_combined(read: KeyedRead) -> bool:
    """Return whether Spark combines rows before each exchange of its own aggregate."""
    combined = bool(read.exchanges) and all(each.combined for each in read.exchanges)
    return combined and kind_of(read) == "own aggregate"


def _change(work: Work, remedy: Remedy) -> Change:
    after = work.predicted(remedy)
    gain = work.seconds / after if after else 1.0
    fits: Confidence = "low"
    if sum(len(run.tasks) for run in work.runs) >= _FEW_TASKS:
        fits = "high" if work.explained >= _WELL else "medium"
        fits = fits if work.explained >= _PARTLY else "low"
    # What an executor costs shows in the times of tasks alone.
    by = (remedy.certainty,) if remedy.how == "replace" else (remedy.certainty, fits)
    return Change(remedy, after, gain, work.counting(remedy), min(by, key=_ORDER.index))


def _judged(finding: Finding, limits: Thresholds) -> tuple[Verdict, str]:
    """Return the verdict on a stage, and the reason in a sentence."""
    if _is_combined(finding.run.read):
        return "combined", "Spark combines before the shuffle: a hot key costs no more than another"
    if finding.cause in ("none", "slow task"):
        return _of_balanced(finding, limits)
    if not finding.changes:
        return "none", why_none(finding.run.read, stream=finding.stream)
    if finding.cause == "spill":
        return "unsure", why_change(finding)
    small = _small(finding, limits)
    if small:
        few = f"{why_few_tasks(finding)}; " if finding.cause == "few tasks" else ""
        return "small", few + small
    sure = any(each.confidence != "low" for each in finding.changes)
    keys = finding.cause in ("skewed keys", "null keys")
    return ("change" if sure or keys else "unsure"), why_change(finding)


def _of_balanced(finding: Finding, limits: Thresholds) -> tuple[Verdict, str]:
    """Judge a stage whose time is not that of its keys."""
    largest, longest = finding.fullness["rows"], finding.fullness["seconds"]
    if largest >= limits.least_fullness:
        return "small", _NO_HELP
    reason = f"rows are balanced: the largest task has {largest:.2f} times the mean"
    if longest >= limits.least_fullness:
        reason += f"; the slowest takes {longest:.2f} times the mean, but not because of its keys"
    return "balanced", reason


_NO_HELP = "a change would not make it faster: its time does not depend on the rows of its keys"


def _small(finding: Finding, limits: Thresholds) -> str | None:
    """Return a sentence if there is too little to gain; None if there is enough to gain."""
    gain, least_gain = finding.gain, max(limits.least_gain, LEAST_HELP)
    if gain <= 1:
        return _NO_HELP
    if gain < least_gain:
        return f"a change would make it {gain:.2f}x faster: less than {least_gain:g}x"
    if finding.saved < limits.least_seconds:
        return f"a change would save {finding.saved:.2f} s: less than {limits.least_seconds:g} s"
    return None
