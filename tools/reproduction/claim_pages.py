"""The chapter's pages on the register of claims, as Markdown: one page per document."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from evenkey.papers.claims import PAPERS, documents, register, words
from tools.reproduction.markdown import plain, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkey.papers.claims import Claim, Tables

__all__ = ["claim_pages", "counts", "definitions"]

_VERDICTS = ("holds", "does not hold", "not run", "not testable")


def counts(outcomes: Mapping[str, Tables]) -> list[str]:
    """Return the table of verdicts by document."""
    rows, total = [], Counter[str]()
    for name, claims in register().items():
        count: Counter[str] = Counter(claim.verdict(outcomes) for claim in claims)
        total += count
        rows.append([f"[{PAPERS[name]}](reproduction/claims-{name}.md)", *_numbers(count)])
    titles = ["document", "claims", *_VERDICTS]
    built = sum(bool(claim.by_construction) for claims in register().values() for claim in claims)
    return [
        *table(titles, [*rows, ["all", *_numbers(total)]]),
        (
            f"{built} claims hold by construction, such as the sizes of generated streams: their "
            "pages say why our results cannot fail them."
        ),
        "",
    ]


def definitions() -> list[str]:
    """Return the table of the words of criteria, each with its size, tolerance and reason."""
    rows = [[name, word.papers, word.says, word.reason] for name, word in words().items()]
    return [
        *table(["word", "stands for", "meaning", "reason"], rows),
        (
            "A criterion counts in every setting, unless it says otherwise. Where the paper says "
            "*generally* or *often*, at least three quarters of the settings must agree; *on "
            "average* is the median setting; *up to* is the setting where a ratio is most."
        ),
        "",
    ]


def claim_pages(outcomes: Mapping[str, Tables], notes: Mapping[str, str]) -> dict[str, str]:
    """Return the page of each document with all its claims, by the path below docs/."""
    return {
        f"reproduction/claims-{name}.md": "\n".join(_page(name, claims, outcomes, notes))
        for name, claims in register().items()
    }


def _numbers(count: Counter[str]) -> list[str]:
    return [str(count.total()), *(str(count[verdict]) for verdict in _VERDICTS)]


def _page(
    name: str, claims: Sequence[Claim], outcomes: Mapping[str, Tables], notes: Mapping[str, str]
) -> Iterator[str]:
    yield f"# Claims of {PAPERS[name]}"
    yield ""
    count: Counter[str] = Counter(claim.verdict(outcomes) for claim in claims)
    verdicts = ", ".join(f"{verdict}: {count[verdict]}" for verdict in _VERDICTS)
    places = sum(1 + len(claim.also) for claim in claims)
    yield f"{len(claims)} claims at {places} places ({verdicts})."
    yield "The [chapter](../reproduction.md) defines the words of the criteria."
    yield ""
    document = documents()[name]
    yield from (f"- {each}" for each in document.reading)
    yield ""
    rows = [_row(claim, outcomes, notes) for claim in claims]
    yield from table(["Claim", "Criterion and reason", "Ours", "Verdict"], rows)
    yield "## Statements that are no claims"
    yield ""
    left_out = [[f"“{plain(each.quote)}” ({each.at})", each.reason] for each in document.left_out]
    yield from table(["Statement", "Why it is none"], left_out)


def _row(claim: Claim, outcomes: Mapping[str, Tables], notes: Mapping[str, str]) -> list[str]:
    places = [(claim.at, claim.quote), *claim.also]
    quoted = "<br>".join(f"“{plain(quote)}” ({at})" for at, quote in places)
    found = claim.judged(outcomes)
    criteria = [plain(each.criterion.says) for each in found]
    changes = [f"Changed {each.date}: {each.reason}" for each in claim.changes]
    built = claim.by_construction and f"By construction: {claim.by_construction}"
    reasons = [claim.reason, built, claim.not_testable]
    reasons.append(claim.not_run and f"To run: {claim.not_run}")
    ours = []
    for each in found:
        name = each.criterion.measure.experiment
        # Only experiments with a stored outcome have a page.
        experiment = f"[{name}]({name}.md)" if name in outcomes else f"`{name}`"
        ours.append(f"{experiment}: {each.ours}")
    verdict: str = claim.verdict(outcomes)
    if claim.id in notes:
        shown = "**does not hold**" if verdict == "does not hold" else verdict
        verdict = f"{shown}: {notes[claim.id]}"
    stated = [*criteria, *filter(None, reasons), *changes]
    return [f"`{claim.id}`<br>{quoted}", "<br>".join(stated), "<br>".join(ours), verdict]
