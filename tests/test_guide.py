"""The Python code of the guide runs unchanged, in the order of the text."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

from tests.snippets.blocks import snippets
from tests.snippets.shown import not_shown, usual_partitions

EQUAL = [("after", "before"), ("totals", "salted", "by_customer", "by_function", "in_arrow")]


@pytest.fixture
def settings(spark):
    names = ("spark.sql.shuffle.partitions", "spark.sql.streaming.stateStore.providerClass")
    before = {name: spark.conf.get(name) for name in names}
    yield
    for name, value in before.items():
        spark.conf.set(name, value)


@pytest.mark.slow(25)
@pytest.mark.usefixtures("settings")
def test_python_of_the_guide(spark, capsys):
    names: dict[str, Any] = {"__name__": "guide"}
    for code in snippets("docs/guide.md", "python"):
        asks = code.startswith("print(eks.explain(")
        with usual_partitions(spark) if asks else contextlib.nullcontext():
            exec(code, names)  # noqa: S102 - our own text
        said = capsys.readouterr().out
        assert not asks or not_shown(said, "docs/guide.md") == []
    for first, *others in EQUAL:
        found = {tuple(row) for row in names[first].collect()}
        assert len(found) == 241
        for each in others:
            assert {tuple(row) for row in names[each].collect()} == found, each
    assert names["again"].applyInPandas(names["typical"], "customer long, median double").count()
    assert names["several"].columns == ["customer", "count", "sum(amount)", "mean"]
    assert names["maxima"].count() == 241
    baskets = {(tuple(row["basket"]), row["total"]) for row in names["baskets"].collect()}
    assert baskets == {
        (tuple(row["basket"]), row["sum(amount)"])
        for row in names["by_basket"].groupBy("basket").sum("amount").collect()
    }
    for stream in ("per_minute", "hottest", "seen"):
        assert names[stream].isStreaming
