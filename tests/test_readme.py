"""The Python code of the README runs unchanged."""

from __future__ import annotations

from typing import Any

import pytest

from tests.snippets.blocks import snippets


@pytest.mark.usefixtures("spark")
def test_python_of_the_readme(capsys):
    names: dict[str, Any] = {"__name__": "readme"}
    for code in snippets("README.md", "python"):
        exec(code, names)  # noqa: S102 - our own text
    assert "alice" in capsys.readouterr().out
    clicks, totals = names["clicks"], names["totals"]
    assert {"user", "amount", "at", "worker"} == set(names["placed"].columns)
    assert totals.groupBy().sum("sum").first()[0] == clicks.groupBy().sum("amount").first()[0]
    assert sorted(names["balanced"].collect()) == sorted(names["slow"].collect())
