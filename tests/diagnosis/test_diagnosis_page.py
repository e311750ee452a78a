"""The page of a diagnosis is complete, and loads nothing from other servers."""

from __future__ import annotations

import re

import pytest

from evenkey.core.errors import ConfigurationError
from evenkey.reports.diagnosis import check_page, diagnose, write_page
from tests.diagnosis.writing import Log, applied, skewed


def test_the_page_has_a_picture_and_the_lines_of_each_stage_to_change(tmp_path):
    skewed(name="<orders>").write(tmp_path / "log")
    text = write_page(diagnose(tmp_path / "log"), tmp_path / "page.html").read_text()
    assert "<h1>1 stage to change" in text
    assert "&lt;orders&gt;" in text
    assert "eks.groupBy(df, &#34;customer&#34;, workers=4).applyInPandas(" in text
    assert "collect at /srv/orders.py:17" in text
    assert text.count("<h2>Stage 0: FlatMapGroupsInPandas by customer") == 1
    assert text.count("<figure>") == 1
    assert "Rows of each task" in text
    assert "code line</th>" in text
    assert "adaptive execution</th>" not in text  # no stage has a value
    assert "makespan(tasks as they are; S slots)" in text
    assert not re.search(r"<(script|link|img)[^>]+(src|href)=", text)


@pytest.mark.slow(10)
def test_a_page_of_many_stages_stays_small(tmp_path):
    log = Log(slots=200)
    for number in range(1, 41):
        log.execution(number, applied(counter=number, partitions=200), f"collect at /{number}.py:1")
        rows = [100 + each for each in range(199)] + [20_000 + 1000 * number]
        log.stage(number, rows, [0.001 * each for each in rows], counter=number)
    diagnosis = diagnose(log.write(tmp_path / "log"))
    assert len(diagnosis.named) == 40
    page = write_page(diagnosis, tmp_path / "page.html")
    assert page.stat().st_size < 1_200_000
    text = page.read_text()
    assert text.count("<h2>Stage") == 40
    assert text.count("<figure>") == 6
    assert re.search(r"Charts show the 6 stages .*; 34 further\nstages have no chart", text)
    # Stages with more rows save more, and the page lists them first.
    *_, last = (place.start() for place in re.finditer("<figure>", text))
    assert text.index("/34.py:1</h2>") > last > text.index("/35.py:1</h2>")


def test_a_page_without_stages_to_change(tmp_path):
    Log().write(tmp_path / "log")
    text = write_page(diagnose(tmp_path / "log"), tmp_path / "page.html").read_text()
    assert "<h1>No stage to change" in text
    assert "No keyed shuffle" in text


def test_a_missing_folder_is_reported(tmp_path):
    for file in (tmp_path, tmp_path / "no" / "page.html"):
        with pytest.raises(ConfigurationError, match=r"page = .* folder that exists"):
            check_page(file)
