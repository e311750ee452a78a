"""Pages: any template in the same frame, with images in the page and no script."""

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
def template(tmp_path):
    """Write a template."""
    file = tmp_path / "own.html"
    file.write_text(
        '{% extends "base.html" %}{% block title %}{{ name }}{% endblock %}'
        '{% block body %}{% include "plots.html" %}{% endblock %}'
    )
    return file


def test_a_page_has_its_plots_and_the_colours_of_both_themes_in_it(template, tmp_path):
    page = write_page(tmp_path / "page.html", template, [CHART.plot(FRAME)], name="<a>")
    text = page.read_text("utf-8")
    assert "<title>&lt;a&gt;</title>" in text
    assert "<h2>Loads &amp; more</h2>" in text
    assert f":root {{ --ink: {THEMES['light'].ink}" in text
    assert f"dark) {{ :root {{ --ink: {THEMES['dark'].ink}" in text
    assert text.count('<svg viewBox="0 0 960 ') == text.count('<svg viewBox="0 0 350 ') == 1
    assert not re.search(
        r"<(script|link|img)[^>]+(src|href)=", text
    )  # loads nothing from other servers
    assert "<script" not in text


def test_two_plots_of_a_page_share_no_id(template, tmp_path):
    page = write_page(tmp_path / "page.html", template, [CHART.plot(FRAME)] * 2, name="a")
    ids = re.findall(r' id="([^"]*)"', page.read_text("utf-8"))
    assert ids
    assert len(ids) == len(set(ids))


def test_variables_of_a_template_must_be_given(template, tmp_path):
    from jinja2 import UndefinedError

    with pytest.raises(UndefinedError, match="name"):
        write_page(tmp_path / "page.html", template)
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize("missing", ["matplotlib", "jinja2"])
def test_a_missing_package_is_named_with_its_extra(monkeypatch, missing):
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigurationError, match=rf"{missing}.*evenkey\[pages\]"):
        check_packages()
