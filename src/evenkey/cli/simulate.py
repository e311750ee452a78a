"""``evenkey simulate``: simulate groupings on a stream, without Spark."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from evenkey.cli.command_options import distinct_groupings, with_pipeline_options
from evenkey.cli.error_lines import reported
from evenkey.cli.output import JsonOption, Printer, number, print_json, print_title, whole
from evenkey.cli.progress_bars import message_bar, shown_step
from evenkey.core.errors import ConfigurationError
from evenkey.core.metrics import FIGURES, shown_in
from evenkey.pipeline.aggregate import PipelineConfig

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.simulation import Feed, HashName

_FIELDS = (
    "dataset",
    "input",
    "split",
    "key",
    "count",
    "time",
    "messages",
    "seed",
    "rate",
    "grouping",
    "workers",
    "sources",
    "route_by",
    "observe_by",
    "epoch_messages",
)
_PANEL = "Simulation"


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    app.command("simulate")(reported(with_pipeline_options(only=_FIELDS)(_simulate)))


def _simulate(
    *,
    config: PipelineConfig,
    groupings: Annotated[
        str | None,
        typer.Option(
            metavar="GROUPINGS",
            help="Several groupings, separated by commas, instead of one.",
            rich_help_panel="Grouping",
            show_default=False,
        ),
    ] = None,
    feed: Annotated[
        str,
        typer.Option(
            metavar="shuffle|key",
            help="How messages reach sources: round-robin, or by a hash of their sender or key.",
            rich_help_panel=_PANEL,
        ),
    ] = "shuffle",
    readers: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Readers (Storm's spouts), each of which passes its messages to the sources "
            "(Storm's splitters) round-robin.",
            rich_help_panel=_PANEL,
        ),
    ] = 1,
    estimation: Annotated[
        str,
        typer.Option(
            metavar="local|global|probing(SECONDS)",
            help="Loads that a source knows: what it sent itself, or the true loads of all "
            "workers, always or at intervals.",
            rich_help_panel=_PANEL,
        ),
    ] = "local",
    hash_name: Annotated[
        str,
        typer.Option(
            "--hash",
            metavar="xxhash64|murmur3",
            help="Hash function of keys: Spark's, or the papers'.",
            rich_help_panel=_PANEL,
        ),
    ] = "xxhash64",
    agreement: Annotated[
        bool,
        typer.Option(
            "--agreement",
            help="Compare every choice of a worker with the choice under global estimation.",
            rich_help_panel=_PANEL,
        ),
    ] = False,
    cost_ms: Annotated[
        float,
        typer.Option(
            min=0,
            metavar="MS",
            help="Cost per message in ms. The makespan is the cost times the maximum load, and "
            "messages/s is messages over makespan. The simulation does not sleep.",
            rich_help_panel=_PANEL,
        ),
    ] = 1.0,
    as_json: JsonOption = False,
) -> None:
    """Simulate sources that route a stream to workers, and print how balanced the loads are.

    Spark is not started. All figures except speeds depend only on the options. With
    --epoch-messages, figures are also computed for each epoch.
    """
    spellings = _spellings(config, groupings)
    config.check_paths()
    results = []
    with contextlib.ExitStack() as stack:
        with shown_step("simulate", "opening the stream"):
            # Imported late, so that errors and help do not load the compiled kernels.
            from evenkey.pipeline.aggregate import opened_stream
            from evenkey.simulation import simulate

            stream = stack.enter_context(opened_stream(config))
        for spelling in spellings:
            with message_bar(spelling, getattr(stream, "length", None), "compiling") as show:
                report = simulate(
                    stream,
                    config.with_options(grouping=spelling).resolved_grouping(),
                    workers=config.workers,
                    sources=config.sources,
                    readers=readers,
                    feed=cast("Feed", feed),  # the simulator checks it
                    estimation=estimation,
                    hash=cast("HashName", hash_name),
                    route_by=config.route_by,
                    observe_by=config.observe_by,
                    agreement=agreement,
                    epoch_messages=config.epoch_messages,
                    on_progress=show,
                )
            results.append(report.to_json(cost_ms))
    if not as_json:
        _print_simulations(results)
    else:
        print_json(results[0] if groupings is None else {"results": results})


def _spellings(config: PipelineConfig, groupings: str | None) -> list[str]:
    if groupings is None:
        return [config.grouping]
    if "grouping" in config.model_fields_set:
        message = (
            f"grouping = {config.grouping!r} and groupings = {groupings!r}: pass one of the two"
        )
        raise ConfigurationError(message)
    return distinct_groupings(config, groupings)


def _print_simulations(results: Sequence[dict[str, Any]]) -> None:
    """Print the setting of the simulation, and a table with one row per grouping."""
    console = Printer()
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
