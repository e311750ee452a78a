"""``evenkey advise``: recommend a grouping and a worker count for the user's data."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from evenkey.cli.advice_text import print_advice
from evenkey.cli.command_options import distinct_groupings, with_pipeline_options
from evenkey.cli.error_lines import reported
from evenkey.cli.output import JsonOption, echo, print_json, shortened
from evenkey.cli.progress_bars import shown_step, step_bar
from evenkey.core.errors import ConfigurationError
from evenkey.core.streams import SplitLines
from evenkey.pipeline.aggregate import PipelineConfig

if TYPE_CHECKING:
    from evenkey.reports.advice import Advice, Sample, Sampling

_FIELDS = ("input", "split", "key", "time", "sources")
_option = functools.partial(typer.Option, rich_help_panel="Advice")


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    with_options = with_pipeline_options(only=_FIELDS, arguments=("input",))
    app.command("advise")(reported(with_options(_advise)))


def _advise(
    *,
    config: PipelineConfig,
    workers: Annotated[
        str, _option(metavar="W[,W...]", help="Worker counts to choose from, separated by commas.")
    ] = "10",
    groupings: Annotated[
        str | None,
        _option(
            metavar="GROUPINGS",
            help="Groupings to choose from, separated by commas; default: all that suit a stream.",
        ),
    ] = None,
    aggregator: Annotated[
        str | None,
        _option(
            metavar="AGGREGATOR",
            help="Aggregator that your job computes: count, sum(column=...), mean(column=...), "
            "top-k(k=10); default: your own function.",
        ),
    ] = None,
    sample: Annotated[
        int, _option(metavar="LINES", help="Maximum lines or rows to read.")
    ] = 1_000_000,
    sampling: Annotated[
        str,
        _option(
            metavar="even|first",
            help="Which lines to read: lines at equal distances over the input, or the first.",
        ),
    ] = "even",
    html: Annotated[
        Path | None,
        _option(metavar="FILE", help="Write a page with plots; needs the extra `pages`."),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Measure how skewed your keys are, and recommend a grouping and a worker count.

    Reads files without Spark, simulates each grouping on a sample, and prints the code to paste.
    """
    counts = _worker_counts(workers)
    chosen = None if groupings is None else distinct_groupings(config, groupings)
    if aggregator is not None:
        # The configuration then also checks and reads the columns that the aggregator needs.
        config = config.with_options(aggregator=aggregator)
    config.check_paths()
    with shown_step("advise", "reading the input"):
        # Imported late, so that errors and help do not load the compiled kernels.
        from evenkey.reports import advice

        split = config.resolved_split()
        advice.check_split(split)
        if html is not None:
            from evenkey.reports.advice import check_page

            check_page(html)
        taken, long_records = sample_of(config, sample, cast("Sampling", sampling))
    paths = tuple(map(str, config.input))
    setting = advice.Setting(paths, split, config.key, aggregator, long_records)
    with step_bar("advise", "simulations", "compiling") as show:
        outcome = advice.advise(
            taken,
            setting,
            counts,
            groupings=chosen,
            sources=config.sources,
            on_progress=lambda done, total, name: show(done, total, shortened(name)),
        )
    _print(outcome, html, as_json=as_json)


def _worker_counts(text: str) -> list[int]:
    parts = [part.strip() for part in text.split(",")]
    if not all(part.isascii() and part.isdecimal() and int(part) for part in parts):
        message = f"workers = {text!r}: give whole numbers of at least 1, such as 10 or 8,16,32"
        raise ConfigurationError(message)
    return [int(part) for part in parts]


def sample_of(config: PipelineConfig, length: int, sampling: Sampling) -> tuple[Sample, bool]:
    """Return a sample of the input, and whether its records span several lines."""
    from evenkey.pipeline.aggregate import opened_records
    from evenkey.reports import advice

    with opened_records(config) as records:
        long_records = isinstance(records, SplitLines) and records.index.has_long_records
        name = ", ".join(map(str, config.input))
        return advice.sampled(name, records, length, sampling), long_records


def _print(outcome: Advice, html: Path | None, *, as_json: bool) -> None:
    page = None
    if html is not None:
        from evenkey.reports.advice import write_page

        page = str(write_page(outcome, html))
    if as_json:
        print_json({**outcome.to_json(), "page": page})
        return
    print_advice(outcome)
    if page is not None:
        echo(f"page: {page}")
