"""``evenkey compare``: run the same stream under several groupings."""

from __future__ import annotations

from typing import Annotated

import typer

from evenkey.cli.command_options import distinct_groupings, with_options_of
from evenkey.cli.error_lines import reported
from evenkey.cli.output import JsonOption, print_json
from evenkey.cli.progress_bars import shown_run
from evenkey.cli.summary import print_comparison
from evenkey.pipeline.aggregate import PipelineConfig

_EXAMPLE = (
    "Example: evenkey compare --input clicks.csv --key user --groupings kg,planned\n"
    "All options: evenkey compare --help-all"
)


def register(app: typer.Typer) -> None:
    """Add the command to a program."""
    command = with_options_of(PipelineConfig, without=("grouping",), brief=True)(_compare)
    app.command("compare", epilog=_EXAMPLE)(reported(command))


def _compare(
    *,
    config: PipelineConfig,
    groupings: Annotated[
        str,
        typer.Option(
            metavar="GROUPINGS",
            help="Groupings, separated by commas, such as kg,pkg(choices=3),dkg.",
        ),
    ] = "sg,kg,pkg,dkg",
    as_json: JsonOption = False,
) -> None:
    """Run the same stream under several groupings, one after the other, and compare them.

    With --output, each grouping gets a directory below it.
    """
    spellings = distinct_groupings(config, groupings)
    config.check_paths()
    with shown_run(config.output, as_json=as_json) as show:
        from evenkey.pipeline import aggregate

        reports = aggregate.compare(config, spellings, on_progress=show)
    if as_json:
        configuration = {**config.manifest(), "groupings": spellings}
        del configuration["grouping"]
        results = [report.to_json() for report in reports]
        print_json({"results": results, "configuration": configuration})
    else:
        print_comparison(reports)
