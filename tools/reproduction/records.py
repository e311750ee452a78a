"""The outcomes of experiments that the repository stores, one JSON file per experiment."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from evenkey.papers.experiments.base import order

__all__ = ["FOLDER", "ROOT", "VERDICTS", "Record", "Statement", "artefact", "records"]

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "docs" / "reproduction"
NOTES = FOLDER / "notes.toml"
VERDICTS = ("holds", "nearly", "does not hold")


class Statement(NamedTuple):
    """A statement of the paper, and our result.

    Parameters
    ----------
    paper, ours
        The statement and our result, in words.
    verdict
        One of `VERDICTS`.
    why
        Why the statement does not hold, or only nearly; empty if it holds.
    """

    paper: str
    ours: str
    verdict: str
    why: str


@dataclass(frozen=True)
class Record:
    """The outcome of an experiment.

    Parameters
    ----------
    given
        The JSON that ``evenkey experiment run`` wrote beside its page, and ``commit``, with which
        it ran.
    notes
        A verdict and its reason for each statement that does not hold, by its first words.
    """

    given: dict[str, Any]
    notes: dict[str, dict[str, str]]

    @property
    def id(self) -> str:
        """Id of the experiment."""
        name: str = self.given["experiment"]
        return name

    @property
    def artefact(self) -> str:
        """The paper's table or figure, the same for its simulation and its run on Spark."""
        return artefact(self.given["reference"])

    @cached_property
    def statements(self) -> list[Statement]:
        """The statements of the paper, with verdicts.

        Raises
        ------
        ValueError
            A statement does not hold and has no note, or a note is not about such a statement.
        """
        found, used = [], set[str]()
        for each in self.given["findings"]:
            starts = [start for start in self.notes if each["paper"].startswith(start)]
            if bool(starts) == each["holds"]:
                wanted = (
                    "holds, but has a note" if starts else "does not hold, and no note says why"
                )
                message = f"{NOTES.name}: {self.id}: {each['paper']!r} {wanted}"
                raise ValueError(message)
            note = self.notes[starts[0]] if starts else {"verdict": VERDICTS[0], "why": ""}
            used.update(starts)
            found.append(Statement(each["paper"], each["ours"], note["verdict"], note["why"]))
        for start in self.notes.keys() - used:
            message = f"{NOTES.name}: {self.id}: there is no statement {start!r}"
            raise ValueError(message)
        return found


def records() -> list[Record]:
    """Read all stored outcomes, in the order of the papers."""
    notes = tomllib.loads(NOTES.read_text("utf-8"))
    given = [json.loads(file.read_text("utf-8")) for file in FOLDER.glob("*.json")]
    given.sort(key=lambda each: order(each["experiment"]))
    return [Record(each, notes.get(each["experiment"], {})) for each in given]


def artefact(reference: str) -> str:
    """Return the table or figure of a reference, the same for its simulation and its Spark run."""
    return reference.removesuffix(", on Spark")
