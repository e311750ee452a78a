"""The Python code of the README runs unchanged."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.snippets.blocks import ROOT, snippets


@pytest.mark.usefixtures("spark")
def test_python_of_the_readme():
    names: dict[str, Any] = {"__name__": "readme"}
    for code in snippets("README.md", "python"):
        exec(code, names)  # noqa: S102 - our own text
    rows = sorted(names["balanced"].collect())
    assert rows == sorted(names["slow"].collect())
    assert len(rows) == 203


def test_the_readme_is_short():
    text = re.sub(r"<!--.*?-->", "", (ROOT / "README.md").read_text("utf-8"))
    assert len(text.split()) <= 600
