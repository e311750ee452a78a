"""``evenkey dataset``: list generated streams, measure them, write them to files or topics."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, get_args

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from evenkey.cli.error_lines import reported
from evenkey.cli.help_pages import Commands
from evenkey.cli.output import JsonOption, Printer, echo, number, print_json, print_title, whole
from evenkey.cli.produce import produce_command
from evenkey.cli.progress_bars import message_bar
from evenkey.core.streams import (
    DatasetFormat,
    catalogue,
    generated,
    summarize_dataset,
    write_dataset,
)

if TYPE_CHECKING:
    from evenkey.core.streams import Published

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dataset, such as country-skew-r80.")]
Messages = Annotated[
    int | None,
    typer.Option(min=1, metavar="N", help="Number of messages; default: the dataset's own."),
]
Seed = Annotated[
    int, typer.Option(metavar="N", help="Another seed gives another stream of the same kind.")
]
Rate = Annotated[
    float | None,
    typer.Option(
        metavar="RATE", help="Messages per second of event time; default: the stream spans 400 s."
    ),
]


def register(app: typer.Typer) -> None:
    """Add the commands to a program."""
    group = Commands(help="List, describe, write and produce datasets.")
    group.command("list")(reported(_list))
    group.command("describe")(reported(_describe))
    group.command("write")(reported(_write))
    group.command("produce")(reported(produce_command))
    app.add_typer(group, name="dataset")


def _list() -> None:
    """List the generated datasets, with published figures of the real data they stand for."""
    console = Printer()
    entries = catalogue()
    table = _table("messages")
    table.add_column("description")
    for each in entries:
        if each.published is None:
            table.add_row(escape(each.spelling), whole(each.usual_messages), escape(each.summary))
    console.print(table)
    print_title(console, "Synthetic streams, with the figures that papers publish of real data:")
    table = _table("messages", "keys", "top key %")
    for each in entries:
        if each.published is not None:
            keys = each.published.keys
            figures = ("" if keys is None else whole(keys), number(each.published.top_percent))
            table.add_row(each.spelling, whole(each.published.messages), *figures)
    console.print(table)


def _table(*figures: str) -> Table:
    table = Table(box=SIMPLE_HEAD)
    table.add_column("dataset", no_wrap=True)
    for figure in figures:
        table.add_column(figure, justify="right", no_wrap=True)
    return table


def _describe(
    name: Name,
    *,
    messages: Messages = None,
    seed: Seed = 0,
    top: Annotated[
        int, typer.Option(min=0, metavar="N", help="Number of hottest keys to list.")
    ] = 10,
    as_json: JsonOption = False,
) -> None:
    """Count a dataset's keys and list the hottest keys."""
    stream = generated(name, messages=messages, seed=seed)
    with message_bar("counting", stream.length, "generating") as show:
        summary = summarize_dataset(stream, top=top, on_progress=show)
    figures = summary.to_json()
    if as_json:
        print_json({**figures, "seed": seed})
        return
    console = Printer()
    title = f"{whole(summary.messages)} messages, {whole(summary.keys)} keys"
    if summary.weight != summary.messages:
        title += f", weight {whole(summary.weight)}"
    print_title(console, f"{summary.dataset}: {title}")
    if summary.published is not None:
        console.print(_spelled(summary.published))
    table = Table(box=SIMPLE_HEAD)
    table.add_column("key", overflow="fold")
    weighs = summary.weight != summary.messages
    table.add_column("weight" if weighs else "messages", justify="right", no_wrap=True)
    table.add_column("share %", justify="right", no_wrap=True)
    for each in figures["top"]:
        table.add_row(escape(each["key"]), whole(each["weight"]), number(each["share_percent"]))
    console.print(table)


def _spelled(figures: Published) -> str:
    keys = "" if figures.keys is None else f"{whole(figures.keys)} keys, "
    return (
        f"synthetic: {figures.what}; published: {whole(figures.messages)} messages, {keys}"
        f"top key {number(figures.top_percent)} % ({figures.source})"
    )


def _write(
    name: Name,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="File to write.")],
    *,
    form: Annotated[
        DatasetFormat | None,
        typer.Option(
            "--format",
            metavar="|".join(get_args(DatasetFormat)),
            help="Default: by suffix: .csv, .jsonl, .parquet, else lines.",
        ),
    ] = None,
    messages: Messages = None,
    seed: Seed = 0,
    rate: Rate = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Write a dataset to a file that `evenkey run --input` can read."""
    stream = generated(name, messages=messages, seed=seed, rate=rate)
    with message_bar("writing", stream.length, "generating") as show:
        chosen = write_dataset(stream, file, form, overwrite=overwrite, on_progress=show)
    echo(f"{whole(stream.length)} messages of {stream.name} written to {file} ({chosen})")
