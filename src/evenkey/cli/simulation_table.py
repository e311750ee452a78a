"""Print the table at the end of a simulation."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from evenkey.cli.output import number, print_title, whole
from evenkey.core.metrics import FIGURES, shown_in

if TYPE_CHECKING:
    from collections.abc import Sequence


def print_simulations(results: Sequence[dict[str, Any]]) -> None:
    """Print the setting of the simulation, and a table with one row per grouping."""
    console = Console()
    first = results[0]
    print_title(
        console,
        f"{first['dataset']}: {whole(first['messages'])} messages, {whole(first['keys'])} keys",
    )
    weighed = [name for name in ("route_by", "observe_by") if first[name] == "weights"]
    words = {"route_by": "routed", "observe_by": "observed"}
    weights = f", {' and '.join(words[name] for name in weighed)} by weights" if weighed else ""
    print_title(
        console,
        f"{first['workers']} workers, {first['sources']} sources fed by {first['feed']}, "
        f"{first['estimation']} loads, {first['hash']}{weights}",
    )
    if first["rejected"]:
        print_title(console, f"lines rejected: {whole(first['rejected'])}")
    rows = [_cells(figures) for figures in results]
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False, show_edge=False)
    table.add_column("grouping", overflow="fold")
    for heading in rows[0]:
        table.add_column(heading, justify="right", no_wrap=True)
    for figures, cells in zip(results, rows, strict=True):
        table.add_row(escape(figures["grouping"]), *cells.values())
    console.print()
    console.print(table)


def _cells(figures: dict[str, Any]) -> dict[str, str]:
    """Return the cells of a row by heading; the columns fit into a terminal of 80 characters."""
    cells = {each.heading: each.cell(figures[each.name]) for each in shown_in("simulation")}
    if "epochs" in figures:
        cells["worst epoch"] = number(figures["epoch_max_over_mean"]["max"], 3)
        cells["moved"] = FIGURES["moved_keys"].cell(figures["moved_keys"])
    if "agreement" in figures:
        cells["agree %"] = number(100 * (1 - figures["agreement"]["disagreement"]), 1)
    if not {"epochs", "agreement"} & figures.keys():
        cells["messages/s"] = whole(figures["messages_per_second"])
        cells["routed M/s"] = number(figures["routing_messages_per_second"] / 1e6, 1)
    return cells
