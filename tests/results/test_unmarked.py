"""Figures that look measured and that nothing marks are found."""

from __future__ import annotations

import pytest

from tools.results.unmarked import passages

MARK = "<!-- loads: results[grouping=kg].load .2f -->"
TABLE = "| grouping | max/mean | workers |\n|---|---|---|\n| `kg` | 8.19 | 10 |\n"


def found(folder, text):
    page = folder / "page.md"
    page.write_text(text)
    return list(passages(page))


@pytest.mark.parametrize(
    "text",
    [
        "The max/mean is 8.19.",
        "It has a `DistCost` of 1.05 there",
        "This is 1.5x slower.",
        "A join takes 1.7x as long.",
        "The max/mean is 1.05 under `planned`.",
        "It takes 3.1 s within a task",
        "Spark reads 199,005 messages per second.",
        "The run took\n3.1 s.",
    ],
)
def test_a_sentence_with_a_measured_figure_is_found(tmp_path, text):
    passage = " ".join(text.split())
    assert found(tmp_path, f"Before it. {text} Behind `1.05` it.")[0].startswith(passage)


@pytest.mark.parametrize(
    "text",
    [
        f"The max/mean is 8.19{MARK}.",
        "The max/mean is at most 1.05.",
        "The max/mean stays below 1.05.",
        "The paper has a throughput of 1.93 times.",
        "Spark 4.3 has a real-time mode.",
        "The share is 0.5.\n\nThe throughput is high.",
        "The throughput under `dkg(epsilon=0.01)` is high.",
        "```text\nmax/mean is 1.123\n```",
        "<!-- source: loads -->\n`compare` at commit 1234, 3.1 s measured",
        f"<!-- table: loads results[grouping={{}}]\nmax/mean: load .2f\n-->\n\n{TABLE}",
        TABLE.replace("max/mean", "limit"),
    ],
)
def test_other_figures_are_not(tmp_path, text):
    assert found(tmp_path, text) == []


def test_a_table_whose_heading_names_a_metric_is_found(tmp_path):
    assert found(tmp_path, f"Text\n\n{TABLE}\nText") == ["`kg` | 8.19 | 10"]
