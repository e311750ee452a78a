"""``evenkey experiment``: reproduce the papers' tables and figures."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.box import SIMPLE_HEAD
from rich.markup import escape
from rich.table import Table

from evenkey.cli.error_lines import interrupted_with, reported
from evenkey.cli.help_pages import Commands
from evenkey.cli.output import (
    JsonOption,
    Printer,
    print_json,
    print_plain,
    print_title,
    shortened,
    whole,
)
from evenkey.cli.progress_bars import step_bar
from evenkey.pipeline.options import check_output

if TYPE_CHECKING:
    from evenkey.papers import experiments
    from evenkey.papers.experiments import Experiment, Outcome

_WIDTH = 160  # width of tables that are not printed on a terminal


def group() -> Commands:
    """Make the group of commands."""
    commands = Commands()
    commands.command("list")(reported(_list))
    commands.command("run")(reported(_run))
    return commands


def _list(*, as_json: JsonOption = False) -> None:
    """List the experiments."""
    from evenkey.papers import experiments

    found = experiments.available().values()
    if as_json:
        entries = [
            {"experiment": each.id, "reference": each.reference, "title": each.title}
            for each in found
        ]
        print_json({"experiments": entries})
        return
    table = Table(box=SIMPLE_HEAD)
    table.add_column("experiment", no_wrap=True)
    table.add_column("in the paper", no_wrap=True)
    table.add_column("what it shows")
    for each in found:
        table.add_row(each.id, each.reference, escape(each.title))
    Printer().print(table)


def _run(
    names: Annotated[
        list[str],
        typer.Argument(
            metavar="ID...",
            help="Experiments, or one of: `simulated` (all that need no Spark), `spark` (all that "
            "run on Spark), `all`.",
        ),
    ],
    *,
    scale: Annotated[
        str,
        typer.Option(
            metavar="quick|medium|full",
            help="quick takes minutes at most, medium is longer; full has the papers' sizes.",
        ),
    ] = "quick",
    output: Annotated[
        Path, typer.Option(metavar="DIR", help="Directory of results and pages.")
    ] = Path("experiments"),
    seed: Annotated[int, typer.Option(metavar="N", help="Another seed gives other streams.")] = 0,
    repeats: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="N",
            help="Timed runs, whose median is reported; default: 1 at quick, 3 at full.",
        ),
    ] = None,
    jobs: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="N",
            help="Simulations at a time; experiments on Spark run one by one.",
        ),
    ] = 1,
    again: Annotated[
        bool,
        typer.Option("--again", help="Also repeat measurements with a result in the directory."),
    ] = False,
    kafka: Annotated[
        str | None,
        typer.Option(
            metavar="SERVERS",
            help="Send each stream to a topic on these servers first, and read it from there; "
            "for experiments on Spark.",
        ),
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Run experiments: measure what has no result yet, then print tables and write pages."""
    from evenkey.papers import experiments
    from evenkey.reports import pictures

    chosen, size = _chosen(names), experiments.scale_named(scale)
    size = dataclasses.replace(size, repeats=repeats or size.repeats)
    pictures.check_packages()
    check_output(output.absolute())
    output.mkdir(parents=True, exist_ok=True)
    results = []
    for experiment in chosen:
        note = "the same command continues with the measurements that have no result yet"
        bar = step_bar(experiment.id, "runs", "measuring", logged=True)
        with interrupted_with(note), bar as show:
            outcome = experiments.run(
                experiment,
                size,
                output,
                seed=seed,
                jobs=jobs,
                again=again,
                kafka=kafka,
                on_progress=lambda progress: show(*_shown(progress)),
            )
        page = experiments.write_page(outcome, output)
        if as_json:
            results.append({**outcome.to_json(), "page": str(page)})
        else:
            _print(outcome, page)
    experiments.write_index(output)
    if as_json:
        print_json({"results": results})


def _chosen(names: list[str]) -> list[Experiment]:
    from evenkey.papers import experiments

    found = experiments.available().values()
    groups = {
        "all": list(found),
        "simulated": [each for each in found if not each.timed],
        "spark": [each for each in found if each.timed],
    }
    if len(names) == 1 and names[0] in groups:
        return groups[names[0]]
    return [experiments.find(name) for name in names]


def _print(outcome: Outcome, page: Path) -> None:
    console = Printer()
    if not console.is_terminal:
        console = Printer(width=_WIDTH)
    experiment = outcome.experiment
    print_title(console, f"{experiment.reference}: {experiment.title} ({outcome.scale.name})")
    for reason in outcome.skipped:
        print_plain(console, f"left out: {reason}", wrapped=False)
    for each in outcome.tables:
        table = Table(box=SIMPLE_HEAD, title=each.title, title_justify="left")
        for column in each.columns:
            table.add_column(
                escape(column.title),
                justify="right" if column.form else "left",
                no_wrap=not column.form,
                overflow="fold",
            )
        for cells in each.cells():
            table.add_row(*map(escape, cells))
        console.print(table)
        if each.note:
            print_plain(console, each.note, wrapped=False)
    for finding in outcome.findings:
        text = f"{finding.verdict}: {finding.criterion.says}. Here: {finding.ours}."
        print_plain(console, text, wrapped=False)
    for machine in outcome.machines:
        text = f"throughput and latency measured on: {machine}"
        print_plain(console, text, wrapped=False)
    print_plain(console, f"page: {page}\n", wrapped=False)


def _shown(progress: experiments.Progress) -> tuple[int, int, str]:
    """Return how many runs are done, how many there are, and what is measured now."""
    now = shortened(progress.dataset)
    if progress.messages:
        now += f", {whole(progress.messages)} messages"
    return progress.done, progress.total, now
