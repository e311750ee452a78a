"""Write a diagnosis as a self-contained page with a plot of each stage to change."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pandas as pd

from evenkey.reports.diagnosis.diagnosing import FORMULA
from evenkey.reports.diagnosis.findings import stage_names, stage_title
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Table
from evenkey.reports.pictures import check_page as check_written
from evenkey.reports.pictures import write_page as write

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.reports.diagnosis.diagnosing import Diagnosed, Diagnosis
    from evenkey.reports.diagnosis.findings import Finding
    from evenkey.reports.pictures import Plot

_MOST_TASKS = 200
"""Maximum number of tasks in a plot. If there are more tasks, only the largest ones are drawn."""

_COLUMNS = (
    Column("stage", "stage"),
    Column("runs", "runs", ",d"),
    Column("operator", "operator"),
    Column("keys", "keys"),
    Column("call_site", "code line"),
    Column("rows", "rows, max/mean", ".2f"),
    Column("bytes", "bytes", ".2f"),
    Column("seconds", "time", ".2f"),
    Column("wall", "wall time, s", ",.1f"),
    Column("cost", "skew costs, s", ",.1f"),
    Column("gain", "speedup", ".2f"),
    Column("adaptive", "adaptive execution"),
    Column("reason", "what to do"),
)


def check_page(file: Path) -> None:
    """Check that the page can be drawn and written, before anything is read.

    Raises
    ------
    ConfigurationError
        A package is not installed, the file is a directory, or its directory does not exist.
    """
    check_written("page", file)


def write_page(diagnosis: Diagnosis, file: Path) -> Path:
    """Write the page, and return its path.

    Raises
    ------
    ConfigurationError
        A package is not installed; the message names the extra that installs it.
    """
    plots = [_plot(number, each) for number, each in enumerate(diagnosis.named, 1)]
    tables = [_table(each) for each in diagnosis.applications if each.findings]
    values = {"diagnosis": diagnosis, "title": stage_title, "formula": FORMULA, "tables": tables}
    return write(file, "diagnosis.html", __package__, plots, **values)


def _plot(number: int, finding: Finding) -> Plot:
    """Draw the rows and the seconds of each task of a stage, largest task first."""
    run, best = finding.run, finding.changes[0]
    order = sorted(range(len(run.rows)), key=lambda each: -run.rows[each])[:_MOST_TASKS]
    measures: dict[str, list[float]] = {
        "rows": [run.rows[each] for each in order],
        "seconds": [run.tasks[each].seconds for each in order],
    }
    mean = {"rows": sum(run.rows) / len(run.rows), "seconds": sum(run.seconds) / len(run.tasks)}
    rows = [
        {"task": place, "value": value, "what": what, "whose": whose}
        for what, values in measures.items()
        for place, now in enumerate(values, 1)
        for whose, value in (("as it ran", now), ("mean", mean[what]))
    ]
    chart = Chart(
        f"{number}. {stage_title(finding)}",
        Axis("task", "Tasks, the task with most rows first"),
        Axis("value", "Of a task"),
        "whose",
        "A task's",
        Grid("what", "{} of each task"),
        note=f"{finding.reason.capitalize()}. {_predicted(finding, best.seconds)}",
    )
    return chart.plot(pd.DataFrame(rows))


def _predicted(finding: Finding, seconds: float) -> str:
    runs = len(finding.work.runs)
    of = f" in {runs:,} runs" if runs > 1 else ""
    return f"It took {finding.work.seconds:,.1f} s{of}; {seconds:,.1f} s are predicted."


def _table(diagnosed: Diagnosed) -> Table:
    known = diagnosed.application
    return Table(
        f"{known.name} ({known.id}): all stages with a keyed shuffle",
        _COLUMNS,
        pd.DataFrame([_row(each) for each in diagnosed.findings]),
        f"Spark {known.version}, {known.slots:,} slots. " + " ".join(diagnosed.cautions),
    )


def _row(finding: Finding) -> dict[str, Any]:
    return {
        "stage": stage_names(finding),
        "runs": len(finding.work.runs),
        "operator": finding.run.read.operator,
        "keys": ", ".join(finding.keys),
        "call_site": finding.run.execution.call_site or None,
        **finding.fullness,
        "wall": finding.work.seconds,
        "cost": finding.work.skew_cost,
        "gain": finding.changes[0].gain if finding.changes else None,
        "adaptive": ", ".join(finding.adaptive) or None,
        "reason": finding.reason,
    }
