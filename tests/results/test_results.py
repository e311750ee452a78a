"""A figure of a page is found, compared with its result, and written."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from tools.results import __main__, pages, stored
from tools.results.stored import Entry, FigureError

PRINTED = {"results": [{"grouping": "kg", "load": 8.186}, {"grouping": "planned", "load": 1.009}]}


@pytest.fixture
def entry(tmp_path, monkeypatch):
    for module in (stored, pages):
        monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(stored, "FOLDER", tmp_path)
    (tmp_path / "loads.json").write_text(json.dumps({"commit": "HEAD", "printed": PRINTED}))
    return Entry("loads", "true", ("src",))


def page_of(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    return page


def test_a_figure_that_differs_is_found_and_written(entry, tmp_path):
    mark = "<!-- loads: results[grouping=kg].load .2f -->"
    page = page_of(tmp_path, f"kg has 9.99{mark} and planned 1.01, kg 8.19{mark}.")
    found = [(each.text, each.wanted) for each in pages.figures(page, {"loads": entry})]
    assert found == [("9.99", "8.19"), ("8.19", "8.19")]
    pages.write(page, {"loads": entry})
    assert page.read_text() == f"kg has 8.19{mark} and planned 1.01, kg 8.19{mark}."


def test_a_figure_whose_result_is_not_stored_is_found_and_stays(entry, tmp_path):
    entry.file.unlink()
    text = "1<!-- loads: results[grouping=kg].load .2f -->\n\n<!-- source: loads -->\n-\n"
    page = page_of(tmp_path, text)
    found = [(each.text, each.wanted) for each in pages.figures(page, {"loads": entry})]
    assert found == [("1", None), ("-", None)]
    pages.write(page, {"loads": entry})
    assert page.read_text() == text


TABLE = """
<!-- table: loads results[grouping={}]
load, most: load .2f
-->

| grouping | kind | load, most |
|---|---|---|
| `planned` | ours | 0 |
| **kg** | | 8.19 |

1
"""


def test_a_table_that_differs_is_found_and_written(entry, tmp_path):
    page = page_of(tmp_path, TABLE)
    found = [(each.text, each.wanted) for each in pages.figures(page, {"loads": entry})]
    assert found == [("0", "1.01"), ("8.19", "8.19")]
    pages.write(page, {"loads": entry})
    assert page.read_text() == TABLE.replace("ours | 0", "ours | 1.01")


@pytest.mark.parametrize(
    ("table", "error"),
    [
        (TABLE.replace("kg", "pkg"), "there is no grouping = pkg"),
        (TABLE.replace("load, most: load", "most: load"), "the table of loads has no most"),
    ],
)
def test_a_table_without_a_figure_is_an_error(entry, tmp_path, table, error):
    with pytest.raises(FigureError, match=error):
        list(pages.figures(page_of(tmp_path, table), {"loads": entry}))


@pytest.mark.parametrize("deterministic", [False, True])
@pytest.mark.parametrize("dirty", [False, True])
def test_the_line_on_the_source_is_written(entry, tmp_path, deterministic, dirty):
    entry = replace(entry, deterministic=deterministic)
    stored_result = {
        "command": "true",
        "commit": "0123456789",
        "dirty": dirty,
        "date": "2026-11-26",
        "versions": {"pyspark": "4.3.0", "python": "3.11.7"},
        "hardware": {"cores": 2, "memory": 24 * 2**30, "processor": "EPYC"},
        "printed": PRINTED,
    }
    entry.file.write_text(json.dumps(stored_result))
    page = page_of(tmp_path, "a\n\n<!-- source: loads -->\nold\n\nb\n")
    pages.write(page, {"loads": entry})
    changed = " with uncommitted changes" if dirty else ""
    line = f"`true` at commit 01234567{changed}, 2026-11-26"
    if deterministic:
        line += "; the figures are the same on every machine."
    else:
        line += ", Spark 4.3.0, Python 3.11.7, 2 cores of EPYC, 24 GiB."
    assert page.read_text() == f"a\n\n<!-- source: loads -->\n{line}\n\nb\n"


@pytest.mark.parametrize("dirty", [False, True])
def test_a_result_with_uncommitted_changes_is_listed(entry, monkeypatch, dirty):
    stored_result = {"commit": "HEAD", "dirty": dirty, "printed": PRINTED}
    entry.file.write_text(json.dumps(stored_result))
    monkeypatch.setattr(__main__, "catalog", lambda: {"loads": replace(entry, code=("none",))})
    listed = ["loads: was run with uncommitted changes"] if dirty else []
    assert __main__.outdated() == listed


@pytest.mark.parametrize(
    ("comment", "error"),
    [
        ("speed: results .2f", "there is no result speed; there are: loads"),
        ("loads: results[grouping=pkg].load .2f", "there is no grouping = pkg"),
        ("loads: figures .2f", "there is no figures"),
    ],
)
def test_a_comment_without_a_figure_is_an_error(entry, tmp_path, comment, error):
    page = page_of(tmp_path, f"1<!-- {comment} -->")
    with pytest.raises(FigureError, match=error):
        list(pages.figures(page, {"loads": entry}))
