"""Print the tables at the end of a join or of a comparison of modes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.table import Table

from evenkey.cli.output import Printer, number, print_end, print_rows, print_title, whole
from evenkey.core.metrics import FIGURES, Balance, Pace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.papers.publish_subscribe import JoinReport


def print_join(report: JoinReport) -> None:
    """Print the metrics of one run."""
    figures = report.to_json()
    moves = figures["redistributions"]
    console = Printer()
    print_title(console, f"{figures['pipeline']}, {figures['mode']}")
    moved = ", ".join(f"{len(each['moved_partitions'])} before {each['epoch']}" for each in moves)
    target = "" if report.skew is None else f", target: {number(report.skew)}"
    rows = [
        (
            "publications",
            f"{whole(figures['messages'])}, {whole(figures['rejected'])} rejected",
        ),
        ("matches", f"{whole(figures['matches'])} (digest {figures['pairs_digest']})"),
        ("partitions", f"{figures['partitions']} on {figures['workers']} workers"),
        ("skew", f"{number(figures['realised_skew'])} of the items{target}"),
        ("MLDC per epoch", " ".join(map(FIGURES["mldc"].written, figures["mldc"]))),
        ("moved partitions", moved or "none"),
        ("static loads", " ".join(whole(each) for each in figures["epoch_static_loads"])),
        ("modelled makespan", f"{number(figures['modelled_makespan_seconds'])} s"),
        *(
            (each.label, each.written(figures[each.name]))
            for each in (*Balance.declared(), *Pace.declared())
            if "summary" in each.shown and figures.get(each.name) is not None
        ),
    ]
    latency = figures["publication_latency_ms"]
    if latency is not None:
        known = [(name, each) for name, each in latency.items() if each is not None]
        written = ", ".join(f"{name} {whole(each)} ms" for name, each in known)
        rows.append(("latency of a publication", written))
    if figures["expected_digest"] is not None:
        equal = figures["expected_digest"] == figures["pairs_digest"]
        rows.append(("one process", "equal pairs" if equal else figures["expected_digest"]))
    if figures["results"] is not None:
        rows.append(("results", figures["results"]))
    print_rows(console, rows)
    print_end(console, figures)


def print_modes(reports: Sequence[JoinReport]) -> None:
    """Print one row per mode."""
    rows = [report.to_json() for report in reports]
    first = rows[0]
    console = Printer()
    print_title(
        console,
        f"{first['pipeline']}: {whole(first['messages'])} publications, "
        f"{whole(first['subscriptions'])} subscriptions, {first['workers']} workers",
    )
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("mode", no_wrap=True)
    for heading in ("MLDC", "moves", "loads", "modelled s", "makespan s", "items/s"):
        table.add_column(heading, justify="right", no_wrap=True)
    for row in rows:
        table.add_row(
            row["mode"],
            " to ".join(FIGURES["mldc"].cell(row["mldc"][each]) for each in (0, -1))
            if row["mldc"]
            else "-",
            str(len(row["redistributions"])),
            whole(row["static_loads"]),
            number(row["modelled_makespan_seconds"]),
            FIGURES["makespan_ms"].cell(row["makespan_ms"]),
            FIGURES["messages_per_second"].cell(row["messages_per_second"]),
        )
    console.print(table)
    digests = {row["pairs_digest"] for row in rows}
    same = "equal" if len(digests) == 1 else "NOT EQUAL"
    console.print(f"pairs of all modes: {same} ({', '.join(sorted(digests))})", highlight=False)
