"""The page of an advice is complete, and loads nothing from other servers."""

from __future__ import annotations

import re

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.reports.advice import Setting, advise
from evenkey.reports.advice.advice_page import _tables, check_page, write_page
from tests.advice.conftest import sample_of


@pytest.mark.slow(2)
@pytest.mark.parametrize(
    ("dataset", "title"),
    [
        ("country-skew-r80", "Use planned on 4 workers"),
        ("uniform(keys=100000)", "No grouping is needed"),
        ("uniform(keys=1)", "Use planned on 4 workers"),
    ],
)
def test_the_page_has_all_in_it(tmp_path, dataset, title):
    setting = Setting(("<a>.csv",), "csv", "k")
    advice = advise(sample_of(dataset, 8000), setting, [4], groupings=["planned"])
    text = write_page(advice, tmp_path / "page.html").read_text()
    assert f"<h1>{title}" in text
    assert "spark.read.csv(&#34;&lt;a&gt;.csv&#34;" in text
    assert "Maximum load over the mean" in text
    assert str(advice.skew.top[0].key) in text
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)


def test_the_hottest_keys_have_their_share_in_percent():
    setting = Setting(("a.csv",), "csv", "k")
    advice = advise(sample_of("country-skew-r80", 2000), setting, [4], groupings=["planned"])
    hottest, _ = _tables(advice)
    messages = advice.skew.top[0].messages
    assert hottest.cells()[0][1:] == [f"{messages:,}", f"{messages / 20:.2f}"]


def test_a_missing_folder_is_an_error(tmp_path):
    for file in (tmp_path, tmp_path / "no" / "page.html"):
        with pytest.raises(ConfigurationError, match="folder that exists"):
            check_page(file)
