"""The outcomes of experiments that the repository stores, one JSON file per experiment."""

from __future__ import annotations

import hashlib
import json
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from evenkey.papers.claims import claims_of
from evenkey.papers.experiments import available, scale_named
from evenkey.papers.experiments.base import order

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evenkey.papers.claims import Claim, Finding, Tables
    from evenkey.papers.experiments import Experiment

__all__ = [
    "FOLDER",
    "NOTES",
    "ROOT",
    "RUNS",
    "Record",
    "Shared",
    "artefact",
    "read_notes",
    "read_shared",
    "records",
    "scenarios_of",
    "tables_of",
    "whys",
]

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reproduction"
NOTES = FOLDER / "notes.toml"
RUNS = FOLDER / "runs.toml"
_DIGITS = 16
_NOTED: Mapping[str, str] = {"does not hold": "it does not hold", "not run": "it is not run"}


@dataclass(frozen=True)
class Record:
    """The outcome of an experiment.

    Parameters
    ----------
    given
        The JSON that ``evenkey experiment run`` wrote beside its page, and ``commit``, with which
        it ran.
    ran
        The digest of its ``scenarios``, and its ``summary`` if the experiment has changed since.
    """

    given: dict[str, Any]
    ran: Mapping[str, str]

    @property
    def id(self) -> str:
        """Id of the experiment."""
        name: str = self.given["experiment"]
        return name

    @property
    def experiment(self) -> Experiment:
        """The experiment, in its present form."""
        return available()[self.id]

    @property
    def changed(self) -> bool:
        """Whether the experiment has other scenarios now than when it ran."""
        return scenarios_of(self.given) != self.ran["scenarios"]

    @property
    def summary(self) -> str:
        """The summary of the experiment, in the form in which it ran."""
        return self.ran["summary"] if self.changed else self.experiment.summary

    @property
    def artefact(self) -> str:
        """What the reference names, the same for its simulation and its run on Spark."""
        return artefact(self.given["reference"])

    @cached_property
    def findings(self) -> list[Finding]:
        """The verdicts on the claims that the experiment tests, by the cells of its tables."""
        tables = {self.id: self.given["tables"]}
        return [each for claim in claims_of(self.id) for each in claim.judged(tables)]


class Shared(NamedTuple):
    """A reason that several claims have, with its title."""

    title: str
    says: str


def records() -> list[Record]:
    """Read all stored outcomes, in the order of the papers."""
    given = [json.loads(file.read_text("utf-8")) for file in FOLDER.glob("*.json")]
    given.sort(key=lambda each: order(each["experiment"]))
    ran = tomllib.loads(RUNS.read_text("utf-8"))
    return [Record(each, ran[each["experiment"]]) for each in given]


def scenarios_of(given: Mapping[str, Any]) -> str:
    """Return a digest of the scenarios that the experiment of an outcome has now, at its scale."""
    experiment = available()[given["experiment"]]
    scenarios = experiment.scenarios(scale_named(given["scale"]))
    ids = sorted(each.seeded(given["seed"]).id for each in scenarios)
    return hashlib.sha256("\n".join(ids).encode()).hexdigest()[:_DIGITS]


def tables_of(found: Sequence[Record]) -> dict[str, Tables]:
    """Return the tables of outcomes, by experiment."""
    return {record.id: record.given["tables"] for record in found}


def whys(
    notes: Mapping[str, str], claims: Sequence[Claim], outcomes: Mapping[str, Tables]
) -> Mapping[str, str]:
    """Check that exactly the claims that need a note have one, and return the notes.

    These are the claims that do not hold, and those with a criterion for which results lack.

    Raises
    ------
    ValueError
        A claim needs a note and has none, or has a note and needs none.
    """
    verdicts = {each.id: each.verdict(outcomes) for each in claims if each.criteria}
    wanted = {name: _NOTED[each] for name, each in verdicts.items() if each in _NOTED}
    for name in sorted(wanted.keys() ^ notes.keys()):
        problem = f"no note says why {wanted[name]}" if name in wanted else "it needs no note"
        message = f"{NOTES.name}: {name}: {problem}"
        raise ValueError(message)
    return notes


def read_notes() -> dict[str, str]:
    """Read why claims do not hold or are not run, by claim."""
    notes: dict[str, str] = _notes()
    del notes["shared"]
    return notes


def read_shared() -> dict[str, Shared]:
    """Read the reasons that several notes name, by name."""
    return {name: Shared(**each) for name, each in _notes()["shared"].items()}


def _notes() -> dict[str, Any]:
    return tomllib.loads(NOTES.read_text("utf-8"))


def artefact(reference: str) -> str:
    """Return what a reference names, the same for its simulation and its run on Spark."""
    return reference.removesuffix(", on Spark")
