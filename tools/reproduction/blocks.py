"""A claim as a block of Markdown: verdict, quotation, criteria with our results, and the reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from evenkey.core.printed_text import capitalized
from tools.reproduction.links import anchor, claim_link, experiment_link, linked
from tools.reproduction.markdown import plain
from tools.reproduction.quotations import quotation
from tools.reproduction.shown_cells import shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkey.papers.claims import Claim, Finding, Tables
    from tools.reproduction.records import Shared

__all__ = ["Source", "block", "expanded", "verdict_of"]

_REASON = re.compile(r"\{([a-z0-9-]+)\}")


class Source(NamedTuple):
    """What blocks are made from.

    Parameters
    ----------
    page
        The page's name in docs/reproduction, without its suffix.
    outcomes
        Tables by experiment.
    notes
        Why claims do not hold or are not run.
    shared
        Reasons that several notes name.
    """

    page: str
    outcomes: Mapping[str, Tables]
    notes: Mapping[str, str]
    shared: Mapping[str, Shared]

    def has(self, claim: Claim) -> bool:
        """Return whether a claim's own page is this one, on which it stands below its section."""
        return claim_link(claim.id, self.page).endswith(f"(#{claim.id})")

    def linked(self, text: str) -> str:
        """Link what a text names."""
        return linked(text, self.page, self.outcomes)


def block(claim: Claim, findings: Sequence[Finding], verdict: str, source: Source) -> list[str]:
    """Return the lines of a claim, with the findings of all its measures or of one experiment."""
    whole = claim.verdict(source.outcomes)
    kind = whole.replace(" ", "-")
    name = f' id="{claim.id}"' if source.has(claim) else ""
    title = f"**{capitalized(verdict)}**"
    if verdict != whole:
        says = "is not judged, as some are not run" if whole == "not run" else whole
        title += f" here; with all its measures the claim **{says}**"
    return [
        f'<div class="claim {kind}"{name} markdown="1">',
        "",
        f"{title} · {claim_link(claim.id, source.page)}",
        "",
        *_quoted(claim, source),
        "",
        *(f"- {each}" for each in _facts(claim, findings, whole, source)),
        "",
        "</div>",
        "",
    ]


def verdict_of(findings: Sequence[Finding]) -> str:
    """Return the verdict on a claim by some of its findings."""
    found = {each.verdict for each in findings}
    return next(each for each in ("does not hold", "not run", "holds") if each in found)


def expanded(note: str, source: Source) -> str:
    """Return a note with links, also to the reasons that it shares."""
    home = "claims-" + source.page.removeprefix("claims-").partition("-")[0]

    def link(found: re.Match[str]) -> str:
        page = "" if home == source.page else f"{home}.md"
        return f"See [{source.shared[found[1]].title}]({page}#{anchor(found[1])})."

    return _REASON.sub(link, source.linked(shown(note)))


def _quoted(claim: Claim, source: Source) -> Iterator[str]:
    place = "" if source.has(claim) else f" ({claim.at})"
    yield f"> “{quotation(claim.quote)}”{place}"
    for at, quote in claim.also:
        yield ">"
        yield f"> “{quotation(quote)}” ({at})"


def _facts(
    claim: Claim, findings: Sequence[Finding], verdict: str, source: Source
) -> Iterator[str]:
    for each in findings:
        name = each.criterion.measure.experiment
        ours = "Ours"
        if name != source.page:
            ours += f", {experiment_link(name, source.outcomes)}"
        apart = f" ({each.verdict})" if len(findings) > 1 else ""
        yield f"**{plain(each.criterion.says)}**<br>{ours}: {plain(shown(each.ours))}{apart}"
    if claim.reason:
        yield f"The criterion: {source.linked(claim.reason)}"
    for label, text in (
        ("By construction", claim.by_construction),
        ("Why not testable", claim.not_testable),
        ("To run", claim.not_run),
    ):
        if text:
            yield f"{label}: {source.linked(text)}"
    if verdict != "holds" and claim.id in source.notes:
        yield f"Why: {expanded(source.notes[claim.id], source)}"
    for change in claim.changes:
        yield f"<small>Changed {change.date}: {source.linked(change.reason)}</small>"
