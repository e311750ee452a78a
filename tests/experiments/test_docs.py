"""The worked example of docs/experiments.md."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from evenkey.papers.experiments import Scale, available, find, pkg, run, write_page
from tests.snippets.blocks import snippets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.papers.experiments import Experiment

GUIDE = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()


@pytest.fixture
def example(tmp_path, monkeypatch) -> Iterator[Experiment]:
    """The example, put into the file of its name and found there."""
    (text,) = snippets("docs/experiments.md", "python")
    (tmp_path / "figure_20.py").write_text(text)
    monkeypatch.setattr(pkg, "__path__", [*pkg.__path__, str(tmp_path)])
    importlib.invalidate_caches()
    yield find("pkg-figure-20")
    sys.modules.pop("evenkey.papers.experiments.pkg.figure_20", None)


def test_the_worked_example_is_all_that_a_figure_takes(example, tmp_path):
    outcome = run(example, Scale("tiny", 5000), tmp_path)
    (table,) = outcome.tables
    assert [row["sources"] for row in table.rows()] == [1, 5, 20, 50]
    (plot,) = outcome.plots
    assert list(plot.figure.data[0].x) == [1, 5, 20, 50]
    assert [finding.paper for finding in outcome.findings] == ["Sources do no harm"]
    assert example.reference == "PKG, figure 20"
    assert write_page(outcome, tmp_path).is_file()


def test_every_experiment_is_described():
    assert {name for name in available() if f"`{name}`" not in GUIDE} == set()
