"""A diagnosis as Markdown, for summaries of CI jobs, chats and issues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evenkey.core.printed_text import capitalized, printable
from evenkey.reports.diagnosis.findings import stage_names, stage_title

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evenkey.reports.diagnosis.earlier_diagnosis import Comparison
    from evenkey.reports.diagnosis.findings import Diagnosed, Finding

_HEADINGS = ("stage", "operator", "keys", "rows, max/mean", "wall, s", "speedup", "verdict", "why")

_COMMANDS = ("replace",)
"""Remedies whose lines are for a shell."""


def markdown_of(
    applications: Sequence[Diagnosed],
    cautions: Sequence[str],
    since: Comparison | None,
    profile: Sequence[str],
) -> str:
    """Return a diagnosis as Markdown: the stages to change, then a table of all stages.

    Parameters
    ----------
    applications, cautions
        Findings of each application, and sentences on what could not be read.
    since
        Comparison with an earlier diagnosis. None: there is no earlier one.
    profile
        Lines about the operations of a profile, which are listed last.
    """
    count = sum(len(each.named) for each in applications)
    lines = [f"## {count or 'No'} stage{'s' * (count != 1)} to change", ""]
    lines += [f"> {_text(each)}" for each in cautions]
    if since is not None:
        lines += _since(since)
    for each in applications:
        lines += _application(each)
    if profile:
        lines += ["## Profile", "", *(f"- {_text(each)}" for each in profile)]
    return "\n".join(lines).rstrip() + "\n"


def _since(since: Comparison) -> Iterator[str]:
    for title, items in (
        ("New", [each.text for each in since.new]),
        ("Worse", [each.text for each in since.worse]),
        ("Fixed", since.fixed),
    ):
        if items:
            yield f"**{title} since the earlier diagnosis**"
            yield ""
            yield from (f"- {_text(each)}" for each in items)
            yield ""
    if not (since.new or since.worse or since.fixed):
        yield "Nothing is new, worse or fixed since the earlier diagnosis."
        yield ""


def _application(diagnosed: Diagnosed) -> Iterator[str]:
    known = diagnosed.application
    yield f"### {_text(known.name)} ({_text(known.id)})"
    yield ""
    yield f"Spark {_text(known.version)}, {known.slots:,} slots, {known.seconds:,.1f} s."
    yield from (f"> {_text(each)}" for each in diagnosed.cautions)
    yield ""
    for finding in diagnosed.findings:
        if finding.verdict in ("change", "unsure"):
            yield from _finding(finding)
    if diagnosed.findings:
        yield from _table([_HEADINGS, ("---",) * len(_HEADINGS)])
        yield from _table([_row(each) for each in diagnosed.findings])
        yield ""


def _finding(finding: Finding) -> Iterator[str]:
    yield f"#### {_text(capitalized(stage_title(finding)))}"
    yield ""
    yield f"{_text(capitalized(finding.reason))}."
    yield from (_text(each) for each in finding.notes)
    yield ""
    for change in finding.changes:
        yield f"{_text(capitalized(change.text))}."
        yield ""
        yield f"```{'sh' if change.remedy.how in _COMMANDS else 'python'}"
        yield change.remedy.code.replace("```", "")
        yield "```"
        yield ""


def _row(finding: Finding) -> Sequence[str]:
    return (
        stage_names(finding),
        finding.run.read.operator,
        ", ".join(finding.keys),
        f"{finding.fullness['rows']:.2f}",
        f"{finding.work.seconds:,.1f}",
        f"{finding.gain:.2f}" if finding.changes else "",
        finding.verdict,
        finding.reason,
    )


def _table(rows: Sequence[Sequence[str]]) -> Iterator[str]:
    for row in rows:
        yield f"| {' | '.join(_text(each) for each in row)} |"


def _text(text: str) -> str:
    """Return a text on one line, in which Markdown and HTML have no meaning."""
    plain = printable(" ".join(text.split()))
    for character in "\\`*_[]<>|#":
        plain = plain.replace(character, f"\\{character}")
    return plain
