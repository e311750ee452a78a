"""The chapter's pages on the register of claims, as Markdown: one page per document."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING

from evenkey.core.printed_text import capitalized
from evenkey.papers.claims import PAPERS, all_claims, documents, register, words
from tools.reproduction.blocks import Source, block
from tools.reproduction.links import anchor, claim_link
from tools.reproduction.markdown import table
from tools.reproduction.quotations import quotation

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from evenkey.papers.claims import Claim, Tables
    from evenkey.papers.claims.criteria import Verdict
    from tools.reproduction.records import Shared

__all__ = ["claim_pages", "counts", "definitions"]

_VERDICTS: tuple[Verdict, ...] = ("holds", "does not hold", "not run", "not testable")
_LISTED: dict[Verdict, str] = {
    "does not hold": "Claims that do not hold",
    "not run": "Claims that no run tests yet",
}
_KINDS = ("abstract", "section", "table", "figure")


def counts(outcomes: Mapping[str, Tables]) -> list[str]:
    """Return the table of verdicts by document."""
    rows = []
    total: Counter[Verdict] = Counter()
    for name, claims in register().items():
        count: Counter[Verdict] = Counter(claim.verdict(outcomes) for claim in claims)
        total += count
        rows.append([f"[{PAPERS[name]}](reproduction/claims-{name}.md)", *_numbers(count)])
    titles = ["document", "claims", *_VERDICTS]
    built = sum(bool(claim.by_construction) for claim in all_claims())
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


def claim_pages(
    outcomes: Mapping[str, Tables], notes: Mapping[str, str], shared: Mapping[str, Shared]
) -> dict[str, str]:
    """Return the page of each document with all its claims, by the path below docs/."""
    written = {}
    for name, claims in register().items():
        source = Source(f"claims-{name}", outcomes, notes, shared)
        written[f"reproduction/{source.page}.md"] = "\n".join(_page(name, claims, source))
    return written


def _numbers(count: Counter[Verdict]) -> list[str]:
    return [str(count.total()), *(str(count[verdict]) for verdict in _VERDICTS)]


def _page(name: str, claims: Sequence[Claim], source: Source) -> Iterator[str]:
    yield f"# Claims of {PAPERS[name]}"
    yield ""
    verdicts = {claim.id: claim.verdict(source.outcomes) for claim in claims}
    count = Counter(verdicts.values())
    said = ", ".join(f"{verdict}: {count[verdict]}" for verdict in _VERDICTS)
    places = sum(1 + len(claim.also) for claim in claims)
    yield f"{len(claims)} claims at {places} places ({said})."
    yield (
        "The [chapter](../reproduction.md) defines the words of the criteria, and the "
        "[glossary](../glossary.md) the terms."
    )
    yield ""
    document = documents()[name]
    yield document.source
    yield ""
    yield from (f"- {source.linked(each)}" for each in document.reading)
    yield ""
    sections = _sections(claims)
    for verdict, title in _LISTED.items():
        some = [each for each in claims if verdicts[each.id] == verdict]
        if some:
            yield from _links(title, _sections(some), source)
    yield from _shared(name, source)
    for at, part in sections.items():
        yield f"## {capitalized(at)}"
        yield ""
        for claim in part:
            yield from block(claim, claim.judged(source.outcomes), verdicts[claim.id], source)
    yield "## Statements that are not claims"
    yield ""
    left_out = [
        [f"“{quotation(each.shown or each.quote)}” ({each.at})", source.linked(each.reason)]
        for each in document.left_out
    ]
    yield from table(["Statement", "Why it is not a claim"], left_out)


def _sections(claims: Sequence[Claim]) -> dict[str, list[Claim]]:
    """Return claims by section: the abstract, sections in their order, tables, figures."""
    found: dict[str, list[Claim]] = {}
    for claim in claims:
        found.setdefault(claim.at, []).append(claim)
    order = {at: number for number, at in enumerate(found)}

    def place(at: str) -> tuple[int, list[int], int]:
        kind, _, rest = at.partition(" ")
        if kind not in _KINDS:
            return len(_KINDS), [], order[at]
        return _KINDS.index(kind), [int(each) for each in re.findall(r"\d+", rest)], order[at]

    return {at: found[at] for at in sorted(found, key=place)}


def _links(title: str, sections: Mapping[str, Sequence[Claim]], source: Source) -> Iterator[str]:
    yield f"## {title}"
    yield ""
    for at, claims in sections.items():
        names = ", ".join(claim_link(claim.id, source.page) for claim in claims)
        yield f"- {capitalized(at)}: {names}"
    yield ""


def _shared(name: str, source: Source) -> Iterator[str]:
    mine = {key: each for key, each in source.shared.items() if key.startswith(f"{name}-")}
    if mine:
        yield "## Reasons shared by several claims"
        yield ""
    for key, each in mine.items():
        yield f'<a id="{anchor(key)}"></a>'
        yield f"**{each.title}.** {source.linked(each.says)}"
        yield ""
