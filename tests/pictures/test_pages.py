"""Pages: templates of any package in the same frame; no script without plots."""

from __future__ import annotations

import re
import sys

import pandas as pd
import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.reports.pictures import THEMES, Axis, Chart, check_packages, write_page

FRAME = pd.DataFrame({"workers": [5, 10], "load": [1.5, 2.5], "method": ["<b>", "PKG"]})
CHART = Chart("Loads & more", Axis("workers", "Workers"), Axis("load", "Load"), "method")


@pytest.fixture
def package(tmp_path, monkeypatch) -> str:
    """Write a package with its own template."""
    folder = tmp_path / "pages_of_a_test" / "templates"
    folder.mkdir(parents=True)
    (folder.parent / "__init__.py").write_text("")
    (folder / "own.html").write_text(
        '{% extends "base.html" %}{% block title %}{{ name }}{% endblock %}'
        '{% block body %}{% include "plots.html" %}{% endblock %}'
    )
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "pages_of_a_test", raising=False)
    return "pages_of_a_test"


def test_a_page_has_its_plots_and_the_colours_in_it(package, tmp_path):
    page = write_page(tmp_path / "page.html", "own.html", package, [CHART.plot(FRAME)], name="<a>")
    text = page.read_text()
    assert "<title>&lt;a&gt;</title>" in text
    assert "<h2>Loads &amp; more</h2>" in text
    assert "plotly.js v" in text
    assert f"--ink: {THEMES['light'].ink}" in text
    assert not re.search(
        r"<(script|link|img)[^>]+(src|href)=", text
    )  # loads nothing from other servers


def test_a_page_without_plots_has_no_script(package, tmp_path):
    assert (
        "<script" not in write_page(tmp_path / "p.html", "own.html", package, name="a").read_text()
    )


def test_variables_of_a_template_must_be_given(package, tmp_path):
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="name"):
        write_page(tmp_path / "page.html", "own.html", package)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("missing", ["plotly", "jinja2"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigurationError, match=rf"{missing}.*evenkey\[pages\]"):
        check_packages()
