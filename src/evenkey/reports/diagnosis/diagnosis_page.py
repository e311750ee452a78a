"""Write a diagnosis as a self-contained page with a plot of each stage to change."""

from __future__ import annotations

from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import pandas as pd

from evenkey.core.printed_text import capitalized
from evenkey.reports.diagnosis.diagnosing import FORMULA
from evenkey.reports.diagnosis.findings import stage_names, stage_title
from evenkey.reports.pictures import Axis, Chart, Column, Grid, Table
from evenkey.reports.pictures import check_page as check_written
from evenkey.reports.pictures import write_page as write

if TYPE_CHECKING:
    from pathlib import Path

    from evenkey.reports.diagnosis.diagnosing import Diagnosis
    from evenkey.reports.diagnosis.findings import Diagnosed, Finding
    from evenkey.reports.pictures import Plot

_TEMPLATE = resources.files(__package__) / "templates" / "diagnosis.html"

_MOST_TASKS = 200
"""Maximum number of tasks in a plot. If there are more tasks, only the largest ones are drawn."""

_MOST_CHARTS = 6
"""Maximum number of charts. If more stages are to change, those with the largest saving get one."""

_COLUMNS = (
    Column("stage", "stage", "d"),
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
    Column("cause", "cause"),
    Column("adaptive", "adaptive execution"),
    Column("reason", "what to do"),
)


class _Shown(NamedTuple):
    """A stage to change, its title, and the number of its chart; None: it has none."""

    finding: Finding
    title: str
    chart: int | None


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
    named = diagnosis.named
    drawn = sorted(range(len(named)), key=lambda place: -named[place].saved)[:_MOST_CHARTS]
    stages = [
        _Shown(each, _title(each), drawn.index(place) if place in drawn else None)
        for place, each in enumerate(named)
    ]
    tables = [_table(each) for each in diagnosis.applications if each.findings]
    values = {
        "diagnosis": diagnosis,
        "stages": stages,
        "undrawn": len(named) - len(drawn),
        "formula": FORMULA,
        "tables": tables,
    }
    plots = [_plot(named[place]) for place in drawn]
    return write(file, _TEMPLATE, plots, capitalized=capitalized, **values)


def _title(finding: Finding) -> str:
    return capitalized(stage_title(finding))


def _plot(finding: Finding) -> Plot:
    """Draw the rows and the seconds of each task of a stage, largest task first."""
    run = finding.run
    order = sorted(range(len(run.rows)), key=lambda each: -run.rows[each])[:_MOST_TASKS]
    measures = {"Rows": run.rows, "Seconds": run.seconds}
    tasks = pd.concat(
        pd.DataFrame(
            {
                "task": range(1, len(order) + 1),
                "value": [values[each] for each in order],
                "mean": sum(values) / len(values),
                "measure": measure,
                "whose": "a task",
            }
        )
        for measure, values in measures.items()
    )
    chart = Chart(
        _title(finding),
        Axis("task", "Tasks, the task with most rows first"),
        Axis("value", ""),
        legend="Tasks",
        panels=Grid("measure", "{} of each task"),
        kind="bars",
        baseline="mean",
        note=_predicted(finding, finding.best.seconds) if finding.best else "",
    )
    return chart.plot(tasks)


def _predicted(finding: Finding, seconds: float) -> str:
    runs = len(finding.work.runs)
    of = f" in {runs:,} runs" if runs > 1 else ""
    return f"It took {finding.work.seconds:,.1f} s{of}; {seconds:,.1f} s are predicted."


def _table(diagnosed: Diagnosed) -> Table:
    known, frame = diagnosed.application, pd.DataFrame([_row(each) for each in diagnosed.findings])
    return Table(
        f"{known.name} ({known.id}): stages",
        [column for column in _COLUMNS if frame[column.name].notna().any()],
        frame,
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
        "gain": finding.gain if finding.changes else None,
        "cause": finding.cause,
        "adaptive": ", ".join(finding.adaptive) or None,
        "reason": finding.reason,
    }
