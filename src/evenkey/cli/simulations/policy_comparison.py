"""``evenkey simulate --policies``: compare policies that move keyed state, and print a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evenkey.cli.output import Printer, number, print_cells, print_title, whole
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import split_list

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from evenkey.core.streams import MessageStream
    from evenkey.pipeline.aggregate import PipelineConfig
    from evenkey.simulation import HashName, PolicyReport

_OF_COSTS = ("key_bytes", "message_bytes", "read_mb_per_second", "partition_ms")
_OF_GROUPINGS = ("grouping", "sources", "route_by", "observe_by")
_MB = 1e6
_MS = 1000


def check_options(
    config: PipelineConfig,
    policies: str | None,
    of_state: Mapping[str, object],
    of_groupings: Mapping[str, object],
) -> None:
    """Check that options of keyed state and options of groupings are not mixed.

    Parameters
    ----------
    config
        Options of the stream and the workers.
    policies
        Text of the option ``--policies``; None: it was not given.
    of_state, of_groupings
        Further options that were given and apply only with policies, or only without.

    Raises
    ------
    ConfigurationError
        An option does not apply, or policies have no epochs.
    """
    if policies is None:
        for name, value in of_state.items():
            message = f"{name} = {value!r}: it is of keyed state; pass policies too, such as hash"
            raise ConfigurationError(message)
        return
    given = config.model_fields_set.intersection(_OF_GROUPINGS)
    mixed = {name: getattr(config, name) for name in sorted(given)}
    for name, value in {**mixed, **of_groupings}.items():
        message = (
            f"policies = {policies!r} and {name} = {value!r}: policies move keyed state, and "
            "groupings route messages; pass one of the two"
        )
        raise ConfigurationError(message)
    if config.epoch_messages is None:
        message = (
            f"policies = {policies!r}: states move between epochs; pass epoch_messages, such as "
            "100000"
        )
        raise ConfigurationError(message)


def compare_policies(
    stream: MessageStream,
    config: PipelineConfig,
    policies: str,
    of_state: Mapping[str, Any],
    *,
    hash_name: HashName,
    message_ms: float,
    on_progress: Callable[[int], None],
) -> list[PolicyReport]:
    """Simulate the policies of a list; see `check_options` for the parameters."""
    from evenkey.simulation import MoveCosts, simulate_policies

    costs = {name: of_state[name] for name in _OF_COSTS if name in of_state}
    return simulate_policies(
        stream,
        split_list(policies),
        workers=config.workers,
        epoch_messages=config.epoch_messages or 0,
        partitions=of_state.get("partitions"),
        capacities=of_state.get("capacities"),
        costs=MoveCosts(message_ms=message_ms, **costs),
        hash=hash_name,
        on_progress=on_progress,
    )


def print_policies(results: Sequence[dict[str, Any]]) -> None:
    """Print the setting of the simulation, and a table with one row per policy."""
    console, first = Printer(), results[0]
    print_title(
        console,
        f"{first['dataset']}: {whole(first['messages'])} messages, {whole(first['states'])} states "
        f"({number(first['state_bytes'] / _MB, 1)} MB), {first['epochs']} epochs",
    )
    unequal = len({*first["capacities"]}) > 1
    able = f" with capacities {':'.join(f'{each:g}' for each in first['capacities'])}"
    print_title(
        console,
        f"{first['workers']} workers{able if unequal else ''}, {first['partitions']} partitions",
    )
    print_cells(console, "policy", results, _cells)


def _cells(figures: dict[str, Any]) -> dict[str, str]:
    """Return the cells of a row by heading; the columns fit into a terminal of 80 characters."""
    return {
        "max/fair": number(figures["epoch_max_over_fair"]["p50"], 3),
        "worst": number(figures["epoch_max_over_fair"]["max"], 3),
        "moved": whole(figures["moved_states"]),
        "load %": number(figures["moved_load"], 1),
        "MB read": number(figures["read_bytes"] / _MB, 1),
        "moves s": number(figures["moves_ms"] / _MS, 1),
        "makespan s": number(figures["makespan_ms"] / _MS, 1),
    }
