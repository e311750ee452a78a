"""Figures of pages that are deterministic are those that their commands print today."""

from __future__ import annotations

import re

import pytest

from tools.results.pages import figures, pages
from tools.results.stored import catalog, figure

COMMENT = re.compile(r"<!-- (?P<name>[\w-]+): (?P<path>\S+) (?P<form>\S+) -->")
SHORT = {"zipf-epochs"}
"""Results that take seconds; the others take a minute or more."""
NAMES = [
    pytest.param(name, marks=pytest.mark.slow(8) if name in SHORT else pytest.mark.soak(120))
    for name, entry in catalog().items()
    if entry.deterministic
]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_has_the_figures_that_a_command_prints(name):
    results = catalog()
    marked = [
        (each.text, found["path"], found["form"])
        for page in pages()
        for each in figures(page, results)
        if (found := COMMENT.fullmatch(each.comment)) and found["name"] == name
    ]
    assert marked
    printed = results[name].printed()
    assert [text for text, _, _ in marked] == [
        format(figure(printed, path), form) for _, path, form in marked
    ]
