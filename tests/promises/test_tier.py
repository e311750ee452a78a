"""Every promise is in the fast tier, and the README lists each file of tests."""

from __future__ import annotations

import ast
import re
from pathlib import Path

HERE = Path(__file__).parent
ABOUT_THE_TESTS = {"test_skips.py", "test_tier.py"}
"""Files that test no promise, but how promises are run."""


def marks_of(source: str) -> set[str]:
    """Return the markers that a file names."""
    nodes = list(ast.walk(ast.parse(source)))
    marks = {
        node.attr
        for node in nodes
        if isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Attribute | ast.Name)
        and (node.value.attr if isinstance(node.value, ast.Attribute) else node.value.id) == "mark"
    }
    # Helpers of `tests/tiers.py` add markers, too.
    return marks | {
        alias.name
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module == "tests.tiers"
        for alias in node.names
    }


def test_no_promise_has_a_marker_that_takes_it_out_of_the_fast_tier():
    allowed = {"classic", "faults", "parametrize", "skip", "timeout", "usefixtures"}
    for file in HERE.rglob("*.py"):
        assert marks_of(file.read_text("utf-8")) <= allowed, file.name


def test_markers_are_found_however_they_are_written():
    assert marks_of("pytestmark = [pytest.mark.slow(3)]") == {"slow"}
    assert marks_of("import pytest\n@pytest.mark.soak\ndef test(): pass") == {"soak"}
    assert marks_of("from pytest import mark\n@mark.benchmark\ndef test(): pass") == {"benchmark"}
    assert marks_of("from tests.tiers import most_in_soak") == {"most_in_soak"}
    assert marks_of("slow = soak = 1") == set()


def test_the_readme_lists_the_files_of_promises():
    rows = re.findall(
        r"\| `(test_\w+\.py)` \|$", (HERE / "README.md").read_text("utf-8"), re.MULTILINE
    )
    assert set(rows) == {each.name for each in HERE.glob("test_*.py")} - ABOUT_THE_TESTS
