"""The verdict on a stage: all limits must be passed, and there must be something to write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.reports.diagnosis.remedies import why_none

if TYPE_CHECKING:
    from evenkey.reports.diagnosis.findings import Finding, Verdict
    from evenkey.reports.diagnosis.thresholds import Thresholds


def judged(finding: Finding, limits: Thresholds) -> tuple[Verdict, str]:
    """Decide on a stage, and say why in a sentence."""
    if finding.combined and finding.kind == "own aggregate":
        return "combined", "Spark combines before the shuffle: a hot key costs no more than another"
    even = _even(finding, limits)
    if even:
        return "even", even
    if not finding.changes:
        return "none", why_none(finding.run.read, stream=finding.stream)
    small = _small(finding, limits)
    if small:
        return "small", small
    fullest, gain = finding.fullness["rows"], finding.changes[0].gain
    heavy = 100 * finding.heaviest_share
    return "change", (
        f"about {gain:.1f} times shorter: the fullest task has {fullest:.1f} times "
        f"the mean of rows, and the heaviest key about {heavy:.0f} % of them"
    )


def _even(finding: Finding, limits: Thresholds) -> str | None:
    """Say that rows lie evenly, if they do."""
    if all(len(run.tasks) == 1 for run in finding.work.runs):
        merged = ", since adaptive execution merged all partitions" if finding.adaptive else ""
        return f"it ran as one task: there is nothing to be uneven{merged}"
    fullest, longest = finding.fullness["rows"], finding.fullness["seconds"]
    if fullest >= limits.least_fullness:
        return None
    reason = f"rows lie evenly: the fullest task has {fullest:.2f} times the mean"
    if longest >= limits.least_fullness:
        reason += f", so that the longest has {longest:.2f} times is no matter of keys"
    return reason


def _small(finding: Finding, limits: Thresholds) -> str | None:
    """Say that there is little to gain, if it is so."""
    gain = finding.changes[0].gain
    if gain <= 1:
        return "it would be no shorter: its time does not go by the rows of its keys"
    if gain < limits.least_gain:
        return f"it would be {gain:.2f} times shorter: less than {limits.least_gain:g}"
    if finding.saved < limits.least_seconds:
        return f"it would save {finding.saved:.2f} s: less than {limits.least_seconds:g} s"
    return None
