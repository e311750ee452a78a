"""The demo's page says what was measured, and what limits the gain."""

from __future__ import annotations

import re

from tests.examples.demo_pages import program, write_demo


def text_of(file):
    return " ".join(re.sub("<[^>]+>", " ", file.read_text("utf-8")).split())


def test_the_page_has_both_gains_their_limits_and_equal_results(tmp_path):
    text = text_of(write_demo(tmp_path, cores=2))
    assert "One hot key: 5.0x faster if rows wait, 1.5x faster if they compute" in text
    assert "Each row sleeps for 2 ms" in text
    assert "no placement of rows can make the job more than 2x faster" in text
    assert "The highest 3 of 500 results; all are equal." in text
    assert "ann 11,994 11,994" in text
    assert "evenkey diagnose /path/to/spark-events" in text


def test_on_one_core_the_page_promises_nothing(tmp_path):
    text = text_of(write_demo(tmp_path, cores=1))
    assert "1.3x slower if they compute" in text
    assert "This machine has one core, so no placement of rows can make the job faster" in text


def test_the_tasks_of_a_job_are_those_that_started_while_it_ran(tmp_path):
    image = re.findall(
        r"<svg.*?</svg>", write_demo(tmp_path, cores=2).read_text("utf-8"), re.DOTALL
    )
    waiting, computing = image
    for run, tasks in ((1, 8), (2, 8)):
        assert len(re.findall(rf"fill: var\(--run{run}\)", waiting)) == tasks
    assert len(re.findall(r"fill: var\(--run2\)", computing)) == 2
    assert "Spark: 8.2 s" in waiting
    assert "evenkey: 1.6 s" in waiting


def test_the_change_is_the_difference_of_the_two_jobs():
    removed, *added = sorted(program().changes(), key=lambda line: "-+".index(line[0]))
    assert removed == '-return df.groupBy("user").applyInPandas(score, SCHEMA)'
    assert [line[0] for line in added] == ["+", "+", "+"]
    assert 'eks.groupBy(df, "user")' in added[-1]
