"""Print a diagnosis: the stages to change, then a table of all stages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from evenkey.cli.output import Printer, number, print_plain, print_point, print_title, whole
from evenkey.core.printed_text import capitalized
from evenkey.reports.diagnosis import stage_names, stage_title

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evenkey.reports.diagnosis import Comparison, Diagnosed, Diagnosis, Finding

_VERDICTS = {
    "change": "change",
    "unsure": "try",
    "combined": "combined",
    "balanced": "balanced",
    "small": "little to gain",
    "none": "nothing to change",
}


def print_diagnosis(
    diagnosis: Diagnosis, since: Comparison | None = None, profile: Sequence[str] = ()
) -> None:
    """Print the stages of each application, the stages to change first.

    With a comparison with an earlier diagnosis, what changed since then is printed before them. The
    lines of a profile are printed last.
    """
    console = Printer()
    count = len(diagnosis.named)
    noun = "stage" if count == 1 else "stages"
    print_title(console, f"{diagnosis.source}: {count or 'no'} {noun} to change")
    for caution in diagnosis.cautions:
        print_plain(console, caution)
    if since is not None:
        _print_since(console, since)
    for each in diagnosis.applications:
        _print_application(console, each)
    if any(each.findings for each in diagnosis.applications):
        console.print()
        print_plain(
            console,
            "rows, bytes, time: the largest task over the mean; costs: wall time lost to skew.",
        )
    if profile:
        console.print()
        print_title(console, "Profile")
    for line in profile:
        print_point(console, line)


def _print_since(console: Console, since: Comparison) -> None:
    console.print()
    print_title(console, "Since the earlier diagnosis")
    items = [
        *(f"new: {each.text}" for each in since.new),
        *(f"worse: {each.text}" for each in since.worse),
        *(f"fixed: {each}" for each in since.fixed),
    ]
    for item in items or ["nothing is new, worse or fixed"]:
        print_point(console, item)


def _print_application(console: Console, diagnosed: Diagnosed) -> None:
    known = diagnosed.application
    console.print()
    print_title(
        console,
        f"{known.name} ({known.id}): Spark {known.version}, {whole(known.slots)} slots, "
        f"{number(known.seconds, 1)} s",
    )
    for caution in diagnosed.cautions:
        print_plain(console, caution)
    for finding in diagnosed.findings:
        if finding.verdict in ("change", "unsure"):
            _print_change(console, finding)
    if diagnosed.findings:
        _print_table(console, diagnosed)


def _print_change(console: Console, finding: Finding) -> None:
    console.print()
    print_title(console, stage_title(finding))
    print_plain(console, f"{capitalized(finding.reason)}.")
    print_plain(
        console,
        f"The stage took {number(finding.work.seconds, 1)} s; tasks of different length cost "
        f"{number(finding.work.skew_cost, 1)} s of this.",
    )
    for note in finding.notes:
        print_plain(console, note)
    for change in finding.changes:
        print_point(console, change.text)
        for line in change.remedy.code.splitlines():
            print_plain(console, f"    {line}", wrapped=False)


def _print_table(console: Console, diagnosed: Diagnosed) -> None:
    table = Table(box=SIMPLE_HEAD, collapse_padding=True, pad_edge=False)
    table.add_column("stage", no_wrap=True)
    for heading in ("tasks", "rows", "bytes", "time", "wall, s", "costs, s"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for each in diagnosed.findings:
        over_mean = each.fullness
        table.add_row(
            stage_names(each),
            whole(len(each.run.tasks)),
            *(number(over_mean[what]) for what in ("rows", "bytes", "seconds")),
            number(each.work.seconds, 1),
            number(each.work.skew_cost, 1),
            _verdict(each),
        )
    console.print(table)
    for each in diagnosed.findings:
        if each.verdict not in ("change", "unsure"):
            print_point(console, f"{stage_title(each)}: {_reason(each)}")


def _verdict(finding: Finding) -> str:
    to_change = finding.verdict in ("change", "unsure")
    return _VERDICTS[finding.verdict] + (f": {finding.cause}" if to_change else "")


def _reason(finding: Finding) -> str:
    words = [finding.reason]
    if len(finding.work.runs) > 1:
        words.append(f"{whole(len(finding.work.runs))} runs of one plan")
    if finding.adaptive and finding.cause != "few tasks":
        words.append(f"adaptive execution: {', '.join(finding.adaptive)}")
    return "; ".join(words)
