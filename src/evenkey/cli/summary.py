"""Print the tables at the end of a run or a comparison."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenkey.cli.output import (
    Printer,
    number,
    print_end,
    print_plain,
    print_rows,
    print_title,
    whole,
)
from evenkey.core.metrics import shown_in

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pyarrow as pa

    from evenkey.pipeline.aggregate import RunReport

_PREVIEW_ROWS = 10


def print_run(report: RunReport) -> None:
    """Print the metrics of one run, and the location of its output."""
    console = Printer()
    figures = report.to_json()
    if report.table is not None:
        _print_preview(console, report.table)
    print_title(console, f"{figures['dataset']} under {figures['grouping']}")
    print_rows(console, _rows(figures))
    print_end(console, figures)


def _rows(figures: dict[str, Any]) -> list[tuple[str, str]]:
    output = figures["output"]
    rows = [
        ("messages", f"{whole(figures['messages'])} of {whole(figures['keys'])} keys"),
        ("rejected", f"{whole(figures['rejected'])} of {whole(figures['lines'])} lines"),
        ("spread over", f"{figures['workers']} workers, by {figures['sources']} sources"),
        *_declared(figures),
    ]
    if "application" in figures:
        rows += _learned(figures)
    if figures["overflows"]:
        text = f"{whole(figures['overflows'])} results are null: a sum does not fit its type"
        rows.append(("overflows", text))
    if figures["late"]:
        rows.append(("late", f"{whole(figures['late'])} partial results"))
    for name, label in (
        ("results", "results"),
        ("model", "model"),
        ("dead_letters", "dead letters"),
        ("state", "state"),
    ):
        if output.get(name) is not None and (name != "dead_letters" or figures["rejected"]):
            rows.append((label, output[name]))
    rows.extend(("export", _export(each)) for each in figures["exports"])
    return rows


def _declared(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows of declared figures, without figures that are not known."""
    return [
        (each.label, each.written(figures[each.name]))
        for each in shown_in("summary")
        if figures[each.name] is not None
    ]


def _learned(figures: dict[str, Any]) -> list[tuple[str, str]]:
    """Return the rows about the model that a learner learned."""
    accuracy = figures["accuracy"]
    shown = "no record was predicted" if accuracy is None else f"{number(100 * accuracy)} %"
    counters, most = whole(figures["counters"]), whole(figures["most_counters"])
    return [
        ("records", whole(figures["records"])),
        ("accuracy", f"{shown}, each epoch by the previous model"),
        ("counters", f"at most {counters} in an epoch, {most} on one worker"),
    ]


def _export(summary: dict[str, Any]) -> str:
    """Describe what an exporter sent and dropped."""
    lost = f", {whole(summary['dropped'])} dropped" if summary["dropped"] else ""
    why = "" if summary["error"] is None else f" ({summary['error']})"
    return f"{summary['to']}: {whole(summary['points'])} points{lost}{why}"


def _print_preview(console: Console, results: pa.Table) -> None:
    print_title(console, "First results")
    table = Table(box=SIMPLE_HEAD)
    numeric = {each for each in results.column_names if str(results[each].type).startswith("int")}
    for name in results.column_names:
        table.add_column(escape(name), justify="right" if name in numeric else "left")
    for row in results.slice(0, _PREVIEW_ROWS).to_pylist():
        table.add_row(*(escape(_cell(value)) for value in row.values()))
    console.print(table)
    more = results.num_rows - _PREVIEW_ROWS
    if more > 0:
        console.print(f"... and {whole(more)} more; --output DIRECTORY keeps them all\n")


def _cell(value: Any) -> str:
    return f"{value:%Y-%m-%d %H:%M:%S}" if isinstance(value, datetime) else str(value)


def print_comparison(reports: Sequence[RunReport]) -> None:
    """Print one row per grouping, with its throughput relative to key grouping."""
    rows = [report.to_json() for report in reports]
    base = next((row["messages_per_second"] for row in rows if row["grouping"] == "kg"), None)
    first = rows[0]
    console = Printer()
    print_title(
        console,
        f"{first['dataset']}: {whole(first['messages'])} messages, "
        f"{whole(first['keys'])} keys, {first['workers']} workers",
    )
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("grouping", overflow="fold")
    compared = shown_in("comparison")
    for figure in compared:
        table.add_column(figure.heading, justify="right", no_wrap=True)
    if base:
        table.add_column("x kg", justify="right", no_wrap=True)
    for row in rows:
        cells = [escape(row["grouping"]), *(each.cell(row[each.name]) for each in compared)]
        if base:
            cells.append(number(row["messages_per_second"] / base))
        table.add_row(*cells)
    console.print(table)
    for row in rows:
        for line in _where(row):
            print_plain(console, line, wrapped=False)


def _where(row: dict[str, Any]) -> list[str]:
    """Return lines that say where the results and the dead letters of a run are."""
    name, output, lines = row["grouping"], row["output"], []
    if output["results"] is not None:
        lines.append(f"{name}: results in {output['results']}")
    if row["rejected"]:
        where = "" if output["dead_letters"] is None else f", in {output['dead_letters']}"
        lines.append(f"{name}: {whole(row['rejected'])} lines rejected{where}")
    failed = [each for each in row["exports"] if each["error"] is not None]
    lines.extend(f"{name}: export to {_export(each)}" for each in failed)
    return lines
