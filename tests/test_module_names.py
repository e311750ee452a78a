"""A module's base name says what is in it, and occurs once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "evenkey"
SHARED = {
    "__init__",
    "_kernels",  # Numba is imported in these alone
    "base",  # what every class of its folder extends
    "config",  # the options of a kind of run
    "report",  # what a kind of run, or an experiment, reports
}
IN_A_PAPER = re.compile(r"(figure|table)_\d+(_[a-z])?")


def test_each_base_name_occurs_once():
    files = Counter(file.stem for file in PACKAGE.rglob("*.py"))
    repeated = {name for name, count in files.items() if count > 1}
    assert {name for name in repeated if not IN_A_PAPER.fullmatch(name)} == SHARED


def test_figures_and_tables_lie_in_the_folder_of_their_paper():
    folders = {file.parent for file in PACKAGE.rglob("*.py") if IN_A_PAPER.fullmatch(file.stem)}
    assert {each.parent for each in folders} == {PACKAGE / "papers" / "experiments"}
