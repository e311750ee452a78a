"""The Python code of docs/windows.md runs unchanged, and its figures are those of the page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

from tests.snippets.blocks import snippets
from tests.snippets.shown import unwrapped
from tests.spark.skewed_joins import differing

DOC = Path(__file__).parents[3] / "docs" / "windows.md"


def without_numbers(text):
    return re.sub(r"\d[\d.]*", "#", text)


@pytest.mark.slow(20)
@pytest.mark.usefixtures("spark")
def test_python_of_the_document(capsys):
    names: dict[str, Any] = {}
    for code in snippets("docs/windows.md", "python"):
        exec(code, names)  # noqa: S102 - our own text
    printed = without_numbers(capsys.readouterr().out.strip())
    assert printed in without_numbers(unwrapped(DOC.read_text("utf-8")))
    after, before = names["after"].cache(), names["before"]
    assert after.schema == before.schema
    assert differing(after, before).collect() == []
    tasks = after.groupBy(F.spark_partition_id()).count().collect()
    assert sum(rows for _, rows in tasks) == 100_000
    assert max(rows for _, rows in tasks) == pytest.approx(100_000 / 16, rel=0.15)
    assert names["moving"].columns == ["account", "amount", "paid_at", "mean", "n"]
