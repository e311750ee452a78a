"""What came out of an experiment, as the repository keeps it: a JSON file an experiment."""

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
    """What the paper says, beside what came out.

    Parameters
    ----------
    paper, ours
        Both in words.
    verdict
        One of `VERDICTS`.
    why
        Why it does not hold, or only nearly; empty where it holds.
    """

    paper: str
    ours: str
    verdict: str
    why: str


@dataclass(frozen=True)
class Record:
    """An experiment's outcome.

    Parameters
    ----------
    given
        What ``evenkey experiment run`` wrote beside its page, and ``commit``, by which it was made.
    notes
        Of each statement that does not hold, by its first words: a verdict and the reason.
    """

    given: dict[str, Any]
    notes: dict[str, dict[str, str]]

    @property
    def id(self) -> str:
        """The experiment's."""
        name: str = self.given["experiment"]
        return name

    @property
    def artefact(self) -> str:
        """The table or figure; what is simulated and run on Spark is one."""
        return artefact(self.given["reference"])

    @cached_property
    def statements(self) -> list[Statement]:
        """What the paper says, judged.

        Raises
        ------
        ValueError
            A statement does not hold and no note says why, or a note is of none that fails.
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
    """Read all outcomes that the repository has, in the order of the papers."""
    notes = tomllib.loads(NOTES.read_text("utf-8"))
    given = [json.loads(file.read_text("utf-8")) for file in FOLDER.glob("*.json")]
    given.sort(key=lambda each: order(each["experiment"]))
    return [Record(each, notes.get(each["experiment"], {})) for each in given]


def artefact(reference: str) -> str:
    """Name the table or figure of an experiment: simulated and on Spark it is the same one."""
    return reference.removesuffix(", on Spark")
