"""``evenkey join``: geospatial publish/subscribe pipelines with balanced stream-static joins."""

from __future__ import annotations

from typing import Annotated, get_args

import typer

from evenkey.cli.command_options import with_options_of
from evenkey.cli.error_lines import interrupted_with, reported
from evenkey.cli.help_pages import Commands
from evenkey.cli.output import JsonOption, echo, print_json, whole
from evenkey.cli.papers.join_summary import print_join, print_modes
from evenkey.cli.produce import SENT
from evenkey.cli.progress_bars import message_bar, shown_run
from evenkey.core.errors import ConfigurationError
from evenkey.core.spelling import split_list
from evenkey.kafka import Address
from evenkey.papers.publish_subscribe import JoinConfig, ModeName

_ALL_MODES = ",".join(get_args(ModeName))
_PRODUCES = {
    *("publications", "skew", "polygon_share", "polygon_clustering", "seconds", "seed"),
    *("subscriptions", "polygons", "collisions", "pipeline"),
    *("workers", "partitions", "partitioner", "kafka_config"),
}
"""Options of ``join produce``: the generated publications, their positions, and Kafka's client."""

_EXAMPLE = (
    "Example: evenkey join run --pipeline spis --skew 0.7 --workers 8 --output out\n"
    "All options: evenkey join run --help-all"
)


def group() -> Commands:
    """Make the group of commands."""
    commands = Commands()
    run = with_options_of(JoinConfig, brief=True)(_run)
    commands.command("run", epilog=_EXAMPLE)(reported(run))
    compare = with_options_of(JoinConfig, without=("mode",), brief=True)(_compare)
    commands.command("compare")(reported(compare))
    unused = JoinConfig.model_fields.keys() - _PRODUCES
    commands.command("produce")(reported(with_options_of(JoinConfig, without=unused)(_produce)))
    return commands


def _run(*, config: JoinConfig, as_json: JsonOption = False) -> None:
    """Join publications with subscriptions by a spatial relation.

    With --output, the same command continues a stopped run.
    """
    config.check_paths()
    with shown_run(config.output, as_json=as_json) as show:
        from evenkey.papers import publish_subscribe as joining

        report = joining.run_join(config, on_progress=show)
    if as_json:
        print_json({**report.to_json(), "configuration": config.manifest()})
    else:
        print_join(report)


def _compare(
    *,
    config: JoinConfig,
    modes: Annotated[
        str,
        typer.Option(
            metavar="MODES",
            help=f"Modes, separated by commas, of: {_ALL_MODES.replace(',', ', ')}. Default: all.",
            show_default=False,
        ),
    ] = _ALL_MODES,
    as_json: JsonOption = False,
) -> None:
    """Join the same publications under several modes, one after the other, and compare them.

    With --output, each mode gets a directory below it.
    """
    names = split_list(modes)
    for name in names:
        if name not in get_args(ModeName):
            message = f"modes = {name!r}: must be one of {_ALL_MODES.replace(',', ', ')}"
            raise ConfigurationError(message)
    if not names or len(set(names)) < len(names):
        message = f"modes = {modes!r}: pass at least one mode, and none twice"
        raise ConfigurationError(message)
    config.check_paths()
    with shown_run(config.output, as_json=as_json) as show:
        from evenkey.papers import publish_subscribe as joining

        reports = joining.compare_joins(config, names, on_progress=show)
    if as_json:
        configuration = {**config.manifest(), "modes": names}
        del configuration["mode"]
        results = [report.to_json() for report in reports]
        print_json({"results": results, "configuration": configuration})
    else:
        print_modes(reports)


def _produce(
    *,
    target: Annotated[
        str, typer.Argument(metavar="SERVERS/TOPIC", help="Such as 127.0.0.1:9092/publications.")
    ],
    config: JoinConfig,
    topic_partitions: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Partitions of the topic, if it does not exist yet."),
    ] = 32,
    live: Annotated[
        bool, typer.Option("--live", help="Send in real time instead of as fast as possible.")
    ] = False,
    as_json: JsonOption = False,
) -> None:
    """Send to a topic the publications that `join run` generates from the same options."""
    address = Address.parse_one(target)
    config.check_paths()
    with (
        interrupted_with(SENT),
        message_bar("producing", config.publications, "generating") as show,
    ):
        from evenkey.papers import publish_subscribe as joining

        produced = joining.produce_publications(
            config, address, partitions=topic_partitions, live=live, on_progress=show
        )
    if as_json:
        print_json(
            {
                "topic": address.topic,
                "messages": produced.messages,
                "seconds": produced.seconds,
                "messages_per_second": produced.messages_per_second,
            }
        )
    else:
        echo(f"{whole(produced.messages)} publications sent to {address}")
