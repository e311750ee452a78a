"""The page on costs has each operator and each grouping that is measured, and all groupings are."""

from __future__ import annotations

import re

import pytest

import evenkey.papers  # noqa: F401 - `available` lists its groupings too
from evenkey.groupings import available
from tools.results.stored import ROOT, catalog

PAGE = ROOT / "docs" / "cost.md"
LISTS = {"operators": "operator", "streams": "operator", "groupings": "grouping"}


def rows_of(tables):
    """Return the first cells of the rows of each list's tables on the page."""
    found: dict[str, list[list[str]]] = {}
    pattern = r"<!-- table: cost (\w+)\[[^>]*-->\n\n((?:\|[^\n]*\n)+)"
    for name, table in re.findall(pattern, tables):
        cells = [line.split("|")[1].strip(" `") for line in table.splitlines()[2:]]
        found.setdefault(name, []).append(cells)
    return found


@pytest.mark.parametrize("name", LISTS)
def test_the_page_has_all_that_is_measured(name):
    measured = {each[LISTS[name]] for each in catalog()["cost"].read()["printed"][name]}
    tables = rows_of(PAGE.read_text("utf-8"))[name]
    assert [set(cells) for cells in tables] == [measured] * len(tables)


def test_all_groupings_are_measured():
    printed = catalog()["cost"].read()["printed"]
    assert {each["grouping"] for each in printed["groupings"]} == {*available()}
