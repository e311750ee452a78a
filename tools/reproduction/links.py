"""Link the names of claims, experiments and decisions in texts of the chapter."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING

from evenkey.papers.claims import register
from evenkey.papers.experiments import available
from tools.decisions import records

if TYPE_CHECKING:
    from collections.abc import Container

__all__ = ["anchor", "claim_link", "experiment_link", "linked"]

_PARTS = re.compile(
    r"(?P<link>\[[^\]]*\]\([^)]*\))|(?P<code>`[^`]*`)"
    r"|(?<![\w/.-])(?P<name>[a-z]+(?:-[a-z0-9]+)+)(?![\w-])"
    r"|\b(?P<decision>[Dd]ecision (?P<number>\d{3}))"
)


def linked(text: str, page: str, outcomes: Container[str]) -> str:
    """Link each known claim, experiment and decision that a text names.

    Parameters
    ----------
    text
        Markdown. Links and code other than a claim's id stay as they are.
    page
        The page's name in docs/reproduction, without its suffix.
    outcomes
        The experiments that have a page.
    """

    def link(found: re.Match[str]) -> str:
        name = found["name"] or (found["code"] or "").strip("`")
        if name in _homes():
            return claim_link(name, page)
        if found["name"] in outcomes:
            return experiment_link(name, outcomes)
        if found["decision"] and (file := _decisions().get(found["number"])):
            return f"[{found['decision']}](../decisions/{file})"
        return found[0]

    return _PARTS.sub(link, text)


def claim_link(name: str, page: str) -> str:
    """Return a link to a claim from a page in docs/reproduction."""
    home = _homes()[name]
    return f"[`{name}`]({'' if home == page else f'{home}.md'}#{name})"


def experiment_link(name: str, outcomes: Container[str]) -> str:
    """Return a link to the page of an experiment; of one without an outcome only its name."""
    reference = available()[name].reference
    return f"[{reference}]({name}.md)" if name in outcomes else reference


def anchor(name: str) -> str:
    """Return the id of a reason that several claims share."""
    return f"why-{name}"


@cache
def _homes() -> dict[str, str]:
    return {claim.id: f"claims-{name}" for name, claims in register().items() for claim in claims}


@cache
def _decisions() -> dict[str, str]:
    return {each.number: each.path for each in records()}
