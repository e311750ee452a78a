"""The register of claims: what the papers state in numbers or in order, and how it is judged."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.papers.claims.criterion_fields import RULES, criterion
from evenkey.papers.claims.shown_values import Measure

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkey.papers.claims.criteria import Criterion, Verdict
    from evenkey.papers.claims.shown_values import Tables

PAPERS = {
    "pkg": "PKG",
    "dkg": "DKG",
    "joins": "Joins",
    "reference": "DKG's reference implementation",
}
"""The documents that the register covers, by the names of their files."""

_TEXTS = {
    *("id", "at", "quote", "also", "reason", "by_construction"),
    *("not_testable", "not_run", "changes"),
}


class Place(NamedTuple):
    """Another place of a document that states the same."""

    at: str
    quote: str


class LeftOut(NamedTuple):
    """A statement of a document that is not a claim, and the reason.

    Parameters
    ----------
    at, quote, reason
        Where it stands, the document's words, and why they are not a claim.
    shown
        The words as pages show them, if the document's text has lost its layout.
    """

    at: str
    quote: str
    reason: str
    shown: str = ""


class Change(NamedTuple):
    """A change of a criterion after it was committed, and its reason."""

    date: str
    reason: str


@dataclass(frozen=True)
class Claim:
    """A quantitative or ordinal statement of a document.

    Parameters
    ----------
    id
        Permanent id, which begins with the document's name in `PAPERS`.
    at
        Section, table or figure.
    quote
        The document's words; “…” stands for words that are left out, or for a figure among them.
    criteria
        What must be true of our results, for each measure that tests the claim.
    also
        Other places that state the same.
    reason
        Why the criterion is what it is, if the definition of its word does not say it.
    by_construction
        Why our results cannot fail the criterion; empty if they can.
    not_testable
        Why the claim cannot be tested here; empty if it can.
    not_run
        What would have to be run to test the claim, if no experiment does so; empty if one does.
    changes
        Changes of the criterion after results had been judged by it.
    """

    id: str
    at: str
    quote: str
    criteria: Sequence[Criterion] = ()
    also: Sequence[Place] = ()
    reason: str = ""
    by_construction: str = ""
    not_testable: str = ""
    not_run: str = ""
    changes: Sequence[Change] = ()

    def judged(self, outcomes: Mapping[str, Tables]) -> list[Finding]:
        """Judge the claim by the tables of outcomes, which are given by experiment."""
        return [
            Finding(self, each, *each.judge(outcomes.get(each.measure.experiment, ())))
            for each in self.criteria
        ]

    def verdict(self, outcomes: Mapping[str, Tables]) -> Verdict:
        """Return the verdict on the whole claim: it holds if it holds for every measure."""
        if self.not_testable:
            return "not testable"
        found = {each.verdict for each in self.judged(outcomes)}
        if "does not hold" in found:
            return "does not hold"
        return "holds" if found == {"holds"} else "not run"


class Finding(NamedTuple):
    """The verdict on a claim for one of its measures.

    Parameters
    ----------
    claim, criterion
        The claim and the criterion.
    verdict
        The verdict on this criterion alone.
    ours
        Our result, in words.
    """

    claim: Claim
    criterion: Criterion
    verdict: Verdict
    ours: str

    @property
    def holds(self) -> bool:
        """Whether our result meets the criterion."""
        return self.verdict == "holds"

    def to_json(self) -> dict[str, str]:
        """Return the finding as values that JSON can represent."""
        return {
            "claim": self.claim.id,
            "at": self.claim.at,
            "paper": self.claim.quote,
            "criterion": self.criterion.says,
            "ours": self.ours,
            "verdict": self.verdict,
        }


class Document(NamedTuple):
    """What the register has of a document.

    Parameters
    ----------
    claims
        Its claims.
    reading
        How the claims are read, in sentences.
    left_out
        Statements that resemble claims and are not.
    source
        The document's authors and title, as a sentence.
    """

    claims: Sequence[Claim]
    reading: Sequence[str]
    left_out: Sequence[LeftOut]
    source: str


@cache
def documents() -> Mapping[str, Document]:
    """Return the documents of the register, by the names in `PAPERS`."""
    return {name: _read(name) for name in PAPERS}


@cache
def register() -> Mapping[str, Sequence[Claim]]:
    """Return all claims, by document."""
    return {name: document.claims for name, document in documents().items()}


def all_claims() -> list[Claim]:
    """Return all claims of all documents."""
    return [claim for claims in register().values() for claim in claims]


def claims_of(experiment: str) -> list[Claim]:
    """Return the claims that an experiment tests, each with the criteria for this experiment."""
    return [
        replace(each, criteria=chosen)
        for each in all_claims()
        if (chosen := [one for one in each.criteria if one.measure.experiment == experiment])
    ]


def read_claims(text: str) -> list[Claim]:
    """Read claims and their measures from TOML.

    A change of several claims is written once, in ``changes``, with the ids of its ``claims``.

    Raises
    ------
    ValueError
        A claim has an unknown field, a measure or word that does not exist, or no way to be judged;
        or a change is of a claim that does not exist.

    Examples
    --------
    >>> (claim,) = read_claims('''
    ... [measures.spread]
    ... experiment = "dkg-table-3"
    ... words = "StdDev"
    ... keys = ["Method"]
    ... columns = ["StdDev, %, ours"]
    ... [[claims]]
    ... id = "dkg-1"
    ... at = "section 5.3"
    ... quote = "KG has highest and SG has lowest StdDev values"
    ... measure = "spread"
    ... word = "more"
    ... more = {Method = "KG"}
    ... less = {Method = "SG"}
    ... ''')
    >>> claim.criteria[0].says
    'StdDev: KG more than SG'
    """
    given = tomllib.loads(text)
    measures = {name: _measure(name, fields) for name, fields in given["measures"].items()}
    claims = {fields["id"]: fields for fields in given["claims"]}
    for change in given.get("changes", ()):
        for name in change.pop("claims"):
            if name not in claims:
                message = f"change of {change['date']}: there is no claim {name!r} in this file"
                raise ValueError(message)
            claims[name].setdefault("changes", []).append(change)
    return [_claim(fields, measures) for fields in given["claims"]]


def _read(name: str) -> Document:
    text = (resources.files(__package__) / f"{name}.toml").read_text("utf-8")
    given = tomllib.loads(text)
    left_out = [LeftOut(**each) for each in given.get("left_out", ())]
    return Document(read_claims(text), given.get("reading", ()), left_out, given["source"])


def _measure(name: str, fields: dict[str, Any]) -> Measure:
    columns = fields.pop("columns")
    if not isinstance(columns, dict):
        columns = {title: title for title in columns}
    return Measure(name=name, columns=columns, **fields)


def _claim(fields: dict[str, Any], measures: Mapping[str, Measure]) -> Claim:
    name = fields["id"]
    unknown = fields.keys() - _TEXTS - RULES
    if unknown:
        message = (
            f"paper claim {name}: unknown field {min(unknown)!r}; use one of "
            f"{sorted(_TEXTS | RULES)}"
        )
        raise ValueError(message)
    texts = {key: value for key, value in fields.items() if key in _TEXTS}
    texts["also"] = [Place(**each) for each in fields.get("also", ())]
    changes = [Change(**each) for each in fields.get("changes", ())]
    texts["changes"] = sorted(changes, key=lambda each: each.date)
    ways = [each for each in ("measure", "not_testable", "not_run") if each in fields]
    if len(ways) != 1:
        message = f"paper claim {name}: give one of measure, not_testable, not_run; it has {ways}"
        raise ValueError(message)
    named = fields.get("measure", [])
    named = [named] if isinstance(named, str) else named
    missing = [each for each in named if each not in measures]
    if missing:
        message = (
            f"paper claim {name}: there is no measure {missing[0]!r}; use one of {sorted(measures)}"
        )
        raise ValueError(message)
    return Claim(**texts, criteria=[criterion(fields, measures[each]) for each in named])
