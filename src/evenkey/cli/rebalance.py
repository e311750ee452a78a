"""``evenkey rebalance``: move the state of a stream to a new plan and other workers."""

from __future__ import annotations

from typing import Annotated

import typer

from evenkey import spark as eks
from evenkey.cli.error_lines import interrupted_with, reported
from evenkey.cli.output import JsonOption, echo, print_json, standard_output_kept, whole
from evenkey.cli.progress_bars import shown_step

_AGAIN = "the old checkpoint is unchanged; the same command begins again"
"""Note of an interrupt: what remains, and how to go on."""


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    app.command("rebalance")(reported(_rebalance))


def _rebalance(
    checkpoint: Annotated[
        str,
        typer.Argument(metavar="CHECKPOINT", help="Checkpoint location of the stopped query."),
    ],
    state: Annotated[
        str,
        typer.Argument(
            metavar="STATE",
            help="New state= of groupBy: an empty directory or URI, for plan and state.",
        ),
    ],
    *,
    workers: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="W",
            help="Number of workers of the new query; default: as the old query.",
        ),
    ] = None,
    cost: Annotated[
        str | None,
        typer.Option(
            metavar="SQL",
            help="Cost of a key, as an expression over its state variables, such as seen.n; "
            "default: the number of values, list elements, map entries and timers.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Move the state of a stopped stream to a new plan, also for another number of workers.

    For queries of transformWithStateInPandas, by eks.groupBy or by Spark's own groupBy. Prints
    where the new query begins to read. SPARK_MASTER names the Spark to run on.
    """
    with interrupted_with(_AGAIN), standard_output_kept(wanted=True):
        with shown_step("rebalance", "starting Spark", logged=True):
            spark = eks.session()
        with shown_step("rebalance", "moving the state", logged=True):
            moved = eks.rebalance(spark, checkpoint, state=state, workers=workers, cost=cost)
    if as_json:
        print_json(moved.to_json())
        return
    echo(
        f"moved: {whole(moved.states)} states and {whole(moved.timers)} timers after batch "
        f"{moved.batch} of {moved.checkpoint}"
    )
    for position in moved.positions:
        echo(f"startingOffsets: {position}")
    echo(
        f"new query: eks.groupBy(rows, ..., workers={moved.workers}, state={state!r}), with "
        f"spark.sql.shuffle.partitions={moved.workers} and a new checkpoint"
    )
