"""The worked example of docs/experiments.md."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from evenkey.experiments import Scale, available, run, write_page

if TYPE_CHECKING:
    from evenkey.experiments import Experiment

GUIDE = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()


def test_the_worked_example_runs(tmp_path):
    (example,) = re.findall(r"^```python\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)
    names: dict[str, Any] = {"__name__": "example"}
    exec(example, names)  # noqa: S102 - our own guide
    experiment: Experiment = names["Sources"]()
    outcome = run(experiment, Scale("tiny", 5000), tmp_path)
    (table,) = outcome.tables
    assert [row["sources"] for row in table.rows()] == [1, 5, 20, 50]
    assert write_page(outcome, tmp_path).is_file()


def test_every_experiment_is_described():
    assert {name for name in available() if f"`{name}`" not in GUIDE} == set()
