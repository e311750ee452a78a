"""The base name of a module says what it contains, and occurs only once."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "src" / "evenkey"
SHARED = {
    "__init__",
    "_kernels",  # only these modules import Numba
    "base",  # the base class of its folder
    "config",  # the options of a kind of run
    "report",  # the report of a kind of run or of an experiment
}
IN_A_PAPER = re.compile(r"(figure|table)_\d+(_[a-z])?|section_\d+(_\d+)?")


def test_each_base_name_occurs_once():
    files = Counter(file.stem for file in PACKAGE.rglob("*.py"))
    repeated = {name for name, count in files.items() if count > 1}
    assert {name for name in repeated if not IN_A_PAPER.fullmatch(name)} == SHARED


def test_figures_tables_and_sections_lie_in_the_folder_of_their_paper():
    files = [file for file in PACKAGE.rglob("*.py") if IN_A_PAPER.fullmatch(file.stem)]
    folders = {
        file.parent.parent if file.parent.name == "sections" else file.parent for file in files
    }
    assert {each.parent for each in folders} == {PACKAGE / "papers" / "experiments"}
