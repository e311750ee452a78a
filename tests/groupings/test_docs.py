"""The page on groupings names all groupings, and its code runs."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from evenkey.groupings import available, parse
from tests.snippets.blocks import snippets

PAGE = (Path(__file__).parents[2] / "docs" / "groupings.md").read_text("utf-8")


@pytest.mark.slow(17)
@pytest.mark.usefixtures("spark")
def test_code_runs():
    names: dict[str, Any] = {}
    for block in snippets("docs/groupings.md", "python"):
        exec(block, names)  # noqa: S102 - our own text
    held = names["routed"].groupBy("user").agg(F.count_distinct("worker").alias("workers"))
    assert {row["workers"] for row in held.collect()} == {1}
    loads = names["routed"].groupBy("worker").count().collect()
    assert len(loads) == 4
    assert names["name"] == "check_spelling_round_trip"


def test_every_grouping_is_in_the_table_and_has_a_word():
    section = PAGE.split("## What each gives and costs")[1]
    listed = {parse(each).name for each in re.findall(r"^\| `([^`]+)`", section, re.MULTILINE)}
    described = set(re.findall(r"\*\*`([\w-]+)", section))
    assert listed == described == {*available()}
