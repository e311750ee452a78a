"""A small experiment that counts how often its scenarios are measured."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

import pyarrow as pa
import pytest

from evenkey.papers.claims import read_claims
from evenkey.papers.experiments import Dataset, Experiment, Measurement, Scenario
from evenkey.reports.pictures import Axis, Chart, Column, Plot, Table

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from evenkey.papers.claims import Claim
    from evenkey.papers.experiments import Scale

MEASURED: list[str] = []

CLAIM = """
[measures.squares]
experiment = "small-table-1"
words = "squares"
keys = ["Number"]
columns = ["Square"]

[[claims]]
id = "squares-grow"
at = "section 1"
quote = "squares grow"
measure = "squares"
word = "much"
rising = { Number = ["1", "2", "3"] }
"""


@dataclass(frozen=True)
class Squares(Scenario):
    """A scenario: the squares of a number and of the seed, with a series up to the number."""

    kind: ClassVar[str] = "squares"

    number: int
    note: str | None = None

    def measure(self, on_messages=None) -> Measurement:
        MEASURED.append(self.id)
        if on_messages is not None:
            on_messages(self.number)
        series = pa.table({"step": list(range(self.number))})
        return Measurement({"square": self.number**2 + self.dataset.seed, "third": 1 / 3}, series)


class SmallExperiment(Experiment):
    """An experiment with three squares, and a scenario whose file does not exist."""

    id = "small-table-1"
    title = "Squares <of numbers>"
    summary = "Squares & their numbers."

    def scenarios(self, scale: Scale) -> Sequence[Scenario]:
        stream = Dataset("uniform(keys=2)", scale.messages(1_000_000))
        numbers = [Squares(stream, number) for number in (3, 1, 2, 3)]
        return [*numbers, Squares(Dataset("nowhere.txt.gz"), 4)]

    def tables(self, frame: pd.DataFrame) -> Sequence[Table]:
        columns = [Column("number", "Number", "d"), Column("square", "Square", ",d")]
        return [Table("The squares", columns, frame, "Drawn only.")]

    def plots(self, frame: pd.DataFrame) -> Sequence[Plot]:
        axes = Axis("number", "Number"), Axis("square", "Square, units")
        return [Chart("Squares", *axes, "kind").plot(frame)]

    @property
    def claims(self) -> Sequence[Claim]:
        return read_claims(CLAIM)


@pytest.fixture
def small(monkeypatch, tmp_path) -> SmallExperiment:
    monkeypatch.setenv("EVENKEY_DATA", str(tmp_path / "data"))
    MEASURED.clear()
    return SmallExperiment()


@pytest.fixture
def measured() -> list[str]:
    """Return the ids of the scenarios that were measured so far."""
    return MEASURED
