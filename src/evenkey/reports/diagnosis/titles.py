"""What stages are called in tables, on pages and in text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from evenkey.reports.diagnosis.findings import Finding


def stage_names(finding: Finding) -> str:
    """Name the stages of a finding: one, or the first and the last with how many they are.

    A stream has a stage an epoch.
    """
    numbers = sorted({each.stage for each in finding.work.runs})
    return str(numbers[0]) if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"


def stage_title(finding: Finding) -> str:
    """Name a stage by its number, its operator, its keys and its place in the code."""
    place = finding.run.execution.call_site
    title = f"stage {stage_names(finding)}: {finding.run.read.operator} by "
    return title + ", ".join(finding.keys) + (f", {place}" if place else "")
