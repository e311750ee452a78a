"""docs/faults.md names existing tests, and lists all tests of this folder."""

from __future__ import annotations

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "faults.md"
FILE, NAME = re.compile(r"`((?:\w+/)+\w+\.py)`"), re.compile(r"`(test_\w+)`")


def named():
    """Return (file, test) of each row; a row without a file has that of the previous row."""
    found, file = [], ""
    for line in PAGE.read_text().splitlines():
        if not line.startswith("| ") or line.startswith("| case"):
            continue
        cell = line.rpartition(" | ")[2]
        for part in re.split(r"; |(?<=\.py`) ", cell):
            files, names = FILE.findall(part), NAME.findall(part)
            file = files[0] if files else file
            found += [(file, name) for name in names]
    return found


def test_it_names_existing_tests():
    wrong = [
        (file, name) for file, name in named() if f"def {name}(" not in (TESTS / file).read_text()
    ]
    assert wrong == []
    assert len(named()) >= 60


def test_it_lists_each_test_of_this_folder():
    here = {
        (f"faults/{file.name}", name)
        for file in Path(__file__).parent.glob("test_*.py")
        if file != Path(__file__)
        for name in re.findall(r"^def (test_\w+)\(", file.read_text(), re.MULTILINE)
    }
    assert here - set(named()) == set()
