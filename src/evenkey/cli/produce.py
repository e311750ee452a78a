"""``evenkey dataset produce``: send a dataset, or the lines of a file, to a Kafka topic."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, get_args

import typer

from evenkey.cli.error_lines import interrupted_with
from evenkey.cli.output import JsonOption, echo, print_json, whole
from evenkey.cli.progress_bars import message_bar, shown_step
from evenkey.core.errors import ConfigurationError
from evenkey.kafka import Address, ClientSettings, ValueFormat, find_records, produce

SENT = "sent messages stay in the topic, and the same command sends them again; use a new topic"
"""Note of an interrupt: what remains in the topic, and how to begin again."""


def produce_command(
    source: Annotated[
        str,
        typer.Argument(
            metavar="NAME|FILE", help="A dataset, such as country-skew-r80, or a file of lines."
        ),
    ],
    target: Annotated[
        str, typer.Argument(metavar="SERVERS/TOPIC", help="Such as 127.0.0.1:9092/clicks.")
    ],
    *,
    form: Annotated[
        ValueFormat,
        typer.Option(
            "--format",
            metavar="|".join(get_args(ValueFormat)),
            help="Values of a dataset: the text of the key, or JSON objects.",
        ),
    ] = "lines",
    messages: Annotated[
        int | None,
        typer.Option(min=1, metavar="N", help="Number of messages to send; default: all."),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives another stream.")] = 0,
    rate: Annotated[
        float | None,
        typer.Option(
            min=1e-6,
            metavar="RATE",
            help="Messages per second of real time; default: as fast as possible, with event "
            "times spread over the last 400 s.",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Event time of the first message, such as 2020-01-01T00:00:00+00:00.",
        ),
    ] = None,
    partitions: Annotated[
        int,
        typer.Option(min=1, metavar="N", help="Partitions of the topic, if it does not exist yet."),
    ] = 5,
    kafka_config: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Properties file for Kafka's client, as for run."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Send a dataset, or the lines of a file, to a topic."""
    address = Address.parse_one(target)
    settings = ClientSettings.read(kafka_config)
    with shown_step("producing", "opening the input"):
        found = find_records(source, form=form, messages=messages, seed=seed, rate=rate)
    clock = time.time() - (0 if rate else found.seconds)
    first = clock if start is None else parse_time(start)
    with interrupted_with(SENT), message_bar("producing", found.total, "connecting") as show:
        produced = produce(
            found.records,
            address,
            first=first,
            live=rate is not None,
            partitions=partitions,
            settings=settings,
            on_progress=show,
        )
    if as_json:
        figures = {
            "dataset": found.name,
            "topic": address.topic,
            "messages": produced.messages,
            "seconds": produced.seconds,
            "messages_per_second": produced.messages_per_second,
            "first_event_time": first,
        }
        print_json(figures)
    else:
        speed = whole(produced.messages_per_second)
        echo(f"{whole(produced.messages)} messages of {found.name} sent to {address} ({speed}/s)")


def parse_time(text: str) -> float:
    """Parse a time into seconds since 1970; a time without a time zone counts as UTC.

    Raises
    ------
    ConfigurationError
        The text is not in ISO 8601 format.

    Examples
    --------
    >>> parse_time("2020-01-01")
    1577836800.0
    """
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        message = f"start = {text!r}: must be a time such as 2020-01-01T00:00:00+00:00"
        raise ConfigurationError(message) from error
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
