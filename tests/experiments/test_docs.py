"""The example of docs/experiments.md runs, and its tables are right."""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from matplotlib.figure import Figure

from evenkey.papers.experiments import FULL, QUICK, Scale, available, find, pkg, run, write_page
from tests.snippets.blocks import snippets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evenkey.papers.experiments import Experiment

GUIDE = (Path(__file__).parents[2] / "docs" / "experiments.md").read_text()
RUNS_ON_SPARK = re.compile(
    r"^\| (`.+?`) \|.*\| ([\d, ]+) \| ([\d,]+); ([\d.]+ .+?) \|$", re.MULTILINE
)
"""Rows of the table: ids, runs at scale quick, messages per run at scales quick and full."""


@pytest.fixture
def example(tmp_path, monkeypatch) -> Iterator[Experiment]:
    """Write the example to the file that the page names, and import it."""
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
    figure: Any = Figure()
    plot.fill(figure, 960)
    assert list(figure.axes[0].lines[0].get_xdata()) == [1, 5, 20, 50]
    assert example.reference == "PKG, figure 20"
    assert write_page(outcome, tmp_path).is_file()


def test_every_experiment_is_described():
    assert {name for name in available() if f"`{name}`" not in GUIDE} == set()


def test_runs_on_spark_have_the_numbers_and_sizes_in_the_table():
    described = set()
    for named, runs, quick, full in RUNS_ON_SPARK.findall(GUIDE):
        experiments = [find(each) for each in re.findall("`(.+?)`", named)]
        described |= {each.id for each in experiments}
        counts = {len(each.scenarios(QUICK)) for each in experiments}
        assert counts == {int(each) for each in runs.split(", ")}, named
        ends = [number(each) for each in full.split(" to ")]
        for each in experiments:
            assert sizes(each, QUICK) == {number(quick)}, named
            assert (min(sizes(each, FULL)), max(sizes(each, FULL))) == (ends[0], ends[-1]), named
    assert described == {name for name in available() if re.search("-spark$|^pkg-figure-10", name)}


def number(text: str) -> int:
    """Parse a number of the table, such as 20,000 or 1.5 M."""
    digits, _, unit = text.partition(" ")
    return round(float(digits.replace(",", "")) * {"": 1, "M": 10**6, "G": 10**9}[unit])


def sizes(experiment: Experiment, scale: Scale) -> set[int]:
    """Return the numbers of messages of an experiment's runs."""
    return {each.dataset.messages or 0 for each in experiment.scenarios(scale)}
