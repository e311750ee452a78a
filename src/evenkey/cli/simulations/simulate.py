"""``evenkey simulate``: simulate groupings, or policies that move state, without Spark."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from evenkey.cli.command_options import distinct_groupings, with_pipeline_options
from evenkey.cli.error_lines import reported
from evenkey.cli.output import (
    JsonOption,
    Printer,
    number,
    print_cells,
    print_json,
    print_title,
    whole,
)
from evenkey.cli.progress_bars import message_bar, shown_step
from evenkey.cli.simulations.policy_comparison import (
    check_options,
    compare_policies,
    print_policies,
)
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
_option = functools.partial(typer.Option, rich_help_panel="Simulation")
_state_option = functools.partial(typer.Option, rich_help_panel="Keyed state")


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
        ),
    ] = None,
    feed: Annotated[
        str,
        _option(
            metavar="shuffle|key",
            help="How messages reach sources: round-robin, or by a hash of their sender or key.",
        ),
    ] = "shuffle",
    readers: Annotated[
        int,
        _option(
            min=1,
            metavar="N",
            help="Readers (Storm's spouts), each of which passes its messages to the sources "
            "(Storm's splitters) round-robin.",
        ),
    ] = 1,
    estimation: Annotated[
        str,
        _option(
            metavar="local|global|probing(SECONDS)",
            help="Loads that a source knows: what it sent itself, or the true loads of all "
            "workers, always or at intervals.",
        ),
    ] = "local",
    hash_name: Annotated[
        str,
        _option(
            "--hash",
            metavar="xxhash64|murmur3",
            help="Hash function of keys: Spark's, or the papers'.",
        ),
    ] = "xxhash64",
    agreement: Annotated[
        bool,
        _option(
            "--agreement",
            help="Compare every choice of a worker with the choice under global estimation.",
        ),
    ] = False,
    cost_ms: Annotated[
        float,
        _option(
            min=0,
            metavar="MS",
            help="Cost per message in ms. The makespan is the cost times the maximum load, and "
            "messages/s is messages over makespan. The simulation does not sleep.",
        ),
    ] = 1.0,
    policies: Annotated[
        str | None,
        _state_option(
            metavar="POLICIES",
            help="Simulate keyed state, and compare policies that move it, separated by commas: "
            "hash, restart, mean, moves. Needs --epoch-messages.",
        ),
    ] = None,
    capacities: Annotated[
        str | None,
        _state_option(
            metavar="A:B:...",
            help="Relative capacity of each worker, such as 2:1:1. Default: 1 each.",
        ),
    ] = None,
    partitions: Annotated[
        int | None,
        _state_option(
            metavar="N",
            help="State partitions, among which keys are divided by their hash. Default: 16 per "
            "worker.",
        ),
    ] = None,
    key_bytes: Annotated[
        float | None,
        _state_option(metavar="BYTES", help="Size of the state of a key. Default: 100."),
    ] = None,
    message_bytes: Annotated[
        float | None,
        _state_option(
            metavar="BYTES",
            help="Bytes that each message adds to the state of its key. Default: 0.",
        ),
    ] = None,
    read_mb_per_second: Annotated[
        float | None,
        _state_option(
            metavar="MB", help="Megabytes of states that a worker reads per second. Default: 50."
        ),
    ] = None,
    partition_ms: Annotated[
        float | None,
        _state_option(
            metavar="MS",
            help="Time for reading a partition, in addition to its bytes, in ms. Default: 10.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Simulate sources that route a stream to workers, and print how balanced the loads are.

    With --policies: simulate workers that hold a state for each key, and print how balanced the
    loads are and what moves cost. Spark is not started. All figures except speeds depend only on
    the options. With --epoch-messages, figures are also computed for each epoch.
    """
    of_state = {
        "capacities": capacities,
        "partitions": partitions,
        "key_bytes": key_bytes,
        "message_bytes": message_bytes,
        "read_mb_per_second": read_mb_per_second,
        "partition_ms": partition_ms,
    }
    of_state = {name: value for name, value in of_state.items() if value is not None}
    of_groupings = {
        "groupings": (groupings, None),
        "feed": (feed, "shuffle"),
        "readers": (readers, 1),
        "estimation": (estimation, "local"),
        "agreement": (agreement, False),
    }
    changed = {name: value for name, (value, usual) in of_groupings.items() if value != usual}
    check_options(config, policies, of_state, changed)
    spellings = _spellings(config, groupings)
    config.check_paths()
    results = []
    with contextlib.ExitStack() as stack:
        with shown_step("simulate", "opening the stream"):
            # Imported late, so that errors and help do not load the compiled kernels.
            from evenkey.pipeline.aggregate import opened_stream
            from evenkey.simulation import simulate

            stream = stack.enter_context(opened_stream(config))
        if policies is not None:
            with message_bar("policies", getattr(stream, "length", None), "compiling") as show:
                reports = compare_policies(
                    stream,
                    config,
                    policies,
                    of_state,
                    hash_name=cast("HashName", hash_name),
                    message_ms=cost_ms,
                    on_progress=show,
                )
            compared = [each.to_json() for each in reports]
            if as_json:
                print_json({"results": compared})
            else:
                print_policies(compared)
            return
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
    print_cells(console, "grouping", results, _cells)


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
