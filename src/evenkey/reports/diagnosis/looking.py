"""From an application to its findings: runs are folded, predicted and judged."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from evenkey.reports.diagnosis.findings import Change, Finding
from evenkey.reports.diagnosis.judging import judged
from evenkey.reports.diagnosis.plans import is_streaming, shape_of
from evenkey.reports.diagnosis.predicting import Work, together
from evenkey.reports.diagnosis.remedies import remedies_for
from evenkey.reports.diagnosis.runs import Run, runs_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.diagnosis.application import Application
    from evenkey.reports.diagnosis.thresholds import Thresholds


def find(application: Application, thresholds: Thresholds) -> list[Finding]:
    """Look at all stages with a keyed shuffle; those to change come first, by what that saves.

    Runs of one plan, such as the epochs of a stream, are one finding.
    """
    folded: dict[object, list[Run]] = {}
    for run in runs_of(application):
        execution = run.execution
        # Without a place in the code, only the same plan is taken for the same query.
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
    verdict, reason = judged(finding, thresholds)
    return replace(finding, verdict=verdict, reason=reason)
