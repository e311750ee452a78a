"""The code of the page on aggregators runs."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from types import ModuleType

from evenkey.aggregators import available
from tests.snippets.blocks import snippets

PAGE = Path(__file__).parents[2] / "docs" / "aggregators.md"


def test_examples_run(monkeypatch):
    blocks = snippets("docs/aggregators.md", "python")
    assert len(blocks) == 6
    # Pickle finds a class by the name of its module.
    module = ModuleType("page_on_aggregators")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), module.__dict__)  # noqa: S102  our own page


def test_every_aggregator_is_in_the_table():
    listed = set(re.findall(r"^\| `([\w-]+)", PAGE.read_text(), flags=re.MULTILINE))
    assert listed == set(available())
